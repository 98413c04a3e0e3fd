// Runs an edge function in the sandbox of Next.js. Usage: next-host.mjs FRAMEWORKS BUNDLE, where FRAMEWORKS is the
// folder with Next.js. The variable FEATURES has the settings as JSON.
import { createRequire } from 'node:module'
import process from 'node:process'

const [frameworks, bundle] = process.argv.slice(2)
const require = createRequire(`${frameworks}/`)
// The server of Next.js loads this module first, too.
require('next/dist/server/node-environment-baseline')
const { run } = require('next/dist/server/web/sandbox')
const handed = []
// The listeners that Next.js adds for uncaught errors print nothing, so the listeners below go first.
const fail = (error) => {
  console.error(error)
  process.exit(1)
}
process.prependListener('unhandledRejection', fail)
process.prependListener('uncaughtException', fail)

const { response } = await run({
  name: 'features',
  paths: [bundle],
  distDir: frameworks,
  edgeFunctionEntry: { env: {}, assets: [], wasm: [] },
  onWarning: ({ message }) => console.error(message),
  request: {
    url: 'http://127.0.0.1/',
    method: 'GET',
    headers: {},
    settings: JSON.parse(process.env.FEATURES),
    waitUntil: (promise) => handed.push(promise),
  },
})
console.log(JSON.stringify({ results: await response.json() }))
await Promise.all(handed)
// The modules of Next.js keep the process alive.
process.exit()

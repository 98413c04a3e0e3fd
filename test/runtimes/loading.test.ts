import { join } from 'node:path'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import { CLIENT_PEM } from '../support/token-server.ts'
import { runOn } from './run.ts'

const FILES = {
  'load.mjs': `import { Analytics } from 'trackpost'\nawait (await import('./load.cjs')).default(Analytics)\n`,
  'load.cjs': `
module.exports = async function load(Analytics) {
  const clientKey = process.env.CLIENT_KEY
  const oauthSettings = { clientId: 'client', keyId: 'key', clientKey }
  const httpClient = async () => ({ status: 200, statusText: 'OK', text: async () => '{"access_token":"tok"}' })
  const analytics = new Analytics({
    writeKey: 'wk',
    httpClient,
    ...(clientKey && { oauthSettings }),
  })
  let reason
  analytics.on('error', (error) => {
    reason = error.reason.message
  })
  analytics.track({ userId: 'u', event: 'loaded' })
  const { delivered } = await analytics.closeAndFlush()
  console.log(JSON.stringify({ delivered, reason, crypto: typeof globalThis.crypto }))
}
if (require.main === module) module.exports(require('trackpost').Analytics)
`,
}

let project: Project

beforeAll(async () => {
  project = await createProject()
  for (const [name, text] of Object.entries(FILES)) await project.write(name, text)
})
afterAll(() => project?.remove())

test.each(['node-16', 'node-18', 'node-22', 'node-26'])(
  '%s signs with a key, from an ES module and from CommonJS',
  async (name) => {
    for (const file of Object.keys(FILES)) {
      // Node.js 16 and 18 have Web Crypto, but no global `crypto`. The client must not create this global.
      const crypto = name === 'node-16' || name === 'node-18' ? 'undefined' : 'object'
      const printed = await runOn(name, project, file, { CLIENT_KEY: CLIENT_PEM })
      expect(printed, file).toEqual({ delivered: 1, crypto })
    }
  },
)

test.each(['node-16', 'node-20', 'node-24', 'node-26', 'bun', 'deno'])(
  '%s delivers from CommonJS',
  async (name) => {
    expect(await runOn(name, project, 'load.cjs')).toMatchObject({ delivered: 1 })
  },
)

test.each(['workerd', 'worker', 'edge-light', 'browser'])(
  'with the condition %s, a bundle needs no module of Node.js, and loads OAuth only with the first token',
  async (condition) => {
    const entry = await project.write('edge.mjs', `export { Analytics } from 'trackpost'\n`)

    const { metafile, warnings } = await build({
      entryPoints: [entry],
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'neutral',
      conditions: [condition],
      outdir: join(project.folder, 'edge'),
      metafile: true,
      logLevel: 'silent',
    })

    expect(warnings).toEqual([])
    const outputs = Object.values(metafile.outputs)
    const first = outputs.find(({ entryPoint }) => entryPoint?.endsWith('edge.mjs'))
    const others = outputs.filter((output) => output !== first)
    const isOAuth = (path: string): boolean => path.includes('/tokens-')
    expect(Object.keys(first?.inputs ?? {}).filter(isOAuth)).toEqual([])
    expect(others.some(({ inputs }) => Object.keys(inputs).some(isOAuth))).toBe(true)
    expect(first?.imports.filter(({ external }) => external)).toEqual([])
  },
)

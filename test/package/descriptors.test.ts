import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project, run } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

/** Opens files until no file descriptor is left. Closes the files when a request has failed because of that. */
const PROGRAM = `
const files = []
const takeAll = () => {
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch (error) {
    return error.code
  }
}
const problems = []
const logger = {
  debug(fields) {
    if (fields.problem === undefined) return
    problems.push(fields.problem)
    for (const file of files.splice(0)) closeSync(file)
  },
  info() {},
  warn() {},
  error() {},
}
const server = createServer((request, response) => request.resume().on('end', () => response.end()))
server.listen(0, '127.0.0.1', async () => {
  const host = 'http://127.0.0.1:' + server.address().port
  const analytics = new Analytics({ writeKey: 'key', host, logger, maxRetries: 3 })
  const taken = takeAll()
  analytics.track({ userId: 'ada', event: 'Signed Up' })
  const { delivered } = await analytics.closeAndFlush()
  console.log(JSON.stringify({ taken, delivered, hasFailed: problems.length > 0 }))
  process.exit(0)
})
`

test.each([
  [
    'an ES module',
    'descriptors.mjs',
    `import { Analytics } from 'trackpost'
import { closeSync, openSync } from 'node:fs'
import { createServer } from 'node:http'`,
  ],
  [
    'CommonJS',
    'descriptors.cjs',
    `const { Analytics } = require('trackpost')
const { closeSync, openSync } = require('node:fs')
const { createServer } = require('node:http')`,
  ],
])(
  'from %s, without fetch: no event is lost when no file descriptor is left for the first request',
  async (_, file, header) => {
    const path = await project.write(file, header + PROGRAM)

    const command = `ulimit -n 64 && exec "${process.execPath}" --no-experimental-fetch "${path}"`
    const { output } = await run('sh', ['-c', command], project.folder)

    const last = output.trim().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toEqual({ taken: 'EMFILE', delivered: 1, hasFailed: true })
  },
)

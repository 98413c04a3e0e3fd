/** The default transport of the build, in both formats: docs/spec.md, section 8.2. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project, run } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

const PROGRAM = `
  let used = 0
  const server = http.createServer((request, response) => request.resume().on('end', () => response.end('{}')))
  server.listen(0, '127.0.0.1', async () => {
    const { port } = server.address()
    const analytics = new Analytics({ writeKey: 'wk_Zurich_7Qm4', host: 'http://127.0.0.1:' + port })
    analytics.track({ userId: 'ada', event: 'One' })
    await analytics.flush()
    http.globalAgent = new (class extends http.Agent {
      createConnection(...given) {
        used++
        return super.createConnection(...given)
      }
    })()
    analytics.track({ userId: 'ada', event: 'Two' })
    const { delivered } = await analytics.flush()
    console.log(JSON.stringify({ delivered, used }))
    process.exit()
  })`

test.each([
  ['module', `import http from 'node:http'\nimport { Analytics } from 'trackpost'\n${PROGRAM}`],
  ['commonjs', `const http = require('node:http')\nconst { Analytics } = require('trackpost')\n${PROGRAM}`],
])('events go over node:http, with the agent of the process: %s', async (type, code) => {
  const args = [`--input-type=${type}`, '-e', code]

  const { output } = await run(process.execPath, args, project.folder)

  expect(output.trim()).toBe('{"delivered":1,"used":1}')
})

/** Calls in `exit` listeners of the program, before and after ours: docs/spec.md, section 6. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project, run } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())

test.each([
  ['before ours', 'on(); make()', 2, { shutdown_timeout: 2, closed: 0 }],
  ['after ours', 'make(); on()', 2, { shutdown_timeout: 1, closed: 1 }],
  ['with a client made in it', 'on(make)', 2, { shutdown_timeout: 1, closed: 1 }],
])('B55: calls in an exit listener %s have their outcome', async (_when, program, accepted, failures) => {
  const code = `
    const { Analytics } = require('trackpost')
    let analytics
    const make = () => { analytics = new Analytics({ writeKey: 'wk_Zurich_7Qm4', host: 'http://127.0.0.1:9' }) }
    const on = (before = () => {}) => process.on('exit', () => {
      before()
      analytics.track({ userId: 'u', event: 'One' })
      analytics.track({ userId: 'u', event: 'Two' })
    })
    ${program}
    process.on('exit', () => console.log(JSON.stringify(analytics.stats)))`

  const { output } = await run(process.execPath, ['-e', code], project.folder)

  const stats = JSON.parse(output.split('\n').find((line) => line.startsWith('{')) ?? '')
  expect(stats).toMatchObject({ accepted, pending: 0, failures })
})

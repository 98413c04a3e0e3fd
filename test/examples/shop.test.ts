import { expect, test } from 'vitest'
import { examplePath, runNode } from './run-node.ts'

const DEMO = [examplePath('shop/demo.mjs')]

test('the demo accounts for every event', async () => {
  const exit = await runNode(DEMO, {})

  expect(exit).toMatchObject({ code: 0, stderr: '' })
  expect(exit.stdout).toContain('Every event is accounted for')
  expect(exit.stdout).toMatch(/total +334 +330 +4 +324 +6/)
  expect(exit.stdout).toMatch(/was answered 503; its events arrived/)
  expect(exit.stdout).toMatch(/was answered 429; its events arrived/)
  expect(exit.stdout).toMatch(/too_large +track +visit-0144/)
})

test.each([
  { sabotage: 'lose', problem: 'visit-0100 did not arrive' },
  { sabotage: 'change', problem: 'visit-0100 differs at userId' },
])(
  'the demo fails when one event does not arrive as it was sent: $sabotage',
  async ({ sabotage, problem }) => {
    const exit = await runNode(DEMO, { DEMO_SABOTAGE: sabotage })

    expect(exit.code).toBe(1)
    expect(exit.stdout).toContain(problem)
    expect(exit.stdout).not.toContain('Every event is accounted for')
  },
)

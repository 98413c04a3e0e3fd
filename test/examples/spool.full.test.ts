import { expect, test } from 'vitest'
import { examplePath, runNode } from './run-node.ts'

test('the demo of the spool kills a service, restarts it, and loses nothing', async () => {
  const { code, stdout, stderr } = await runNode([examplePath('spool-demo.mjs')], {})

  expect(stderr).toBe('')
  expect(stdout).toMatch(/it had stored \d{4,} orders, of which \d+ had arrived/)
  expect(stdout).toMatch(/recovered \d+, delivered \d+, deferred 0/)
  expect(stdout).toMatch(/\n0 lost\n$/)
  expect(code).toBe(0)
})

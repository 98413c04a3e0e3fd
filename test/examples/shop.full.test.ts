import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { examplePath, runNode, startNode } from './run-node.ts'

const DEMO = examplePath('shop/demo.mjs')

beforeAll(() => {
  if (process.env['IS_BUILT'] === '1') return
  const folder = fileURLToPath(new URL('../../collector', import.meta.url))
  // Builds the collector with its web page, which `--stay` serves.
  execFileSync('npm', ['run', '--silent', 'build', '--', '--silent'], { cwd: folder, stdio: 'inherit' })
})

test('the demo finds an outcome for every event', async () => {
  const exit = await runNode([DEMO], {})

  expect(exit).toMatchObject({ code: 0, stderr: '' })
  expect(exit.stdout).toContain('Every event is accounted for')
  expect(exit.stdout).toMatch(/total +148 +144 +4 +138 +6/)
  expect(exit.stdout).toMatch(/\d+ requests of \d+ KB, of which these failed and were sent again: 503, 429\n/)
  expect(exit.stdout).toContain('too_large track visit-0144')
})

test('with --stay, the collector serves its page with the events until SIGINT', async () => {
  const demo = startNode([DEMO, '--stay'], {})
  onTestFinished(() => void demo.child.kill('SIGKILL'))

  const url = await pageOf(demo)
  const page = await fetch(url)
  const stats = await fetch(`${url}/api/stats`).then((reply) => reply.json())

  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  expect(await page.text()).toContain('<!doctype html>')
  expect(stats).toMatchObject({ accepted: 138, rejected: 0, repeated: 6 })
  expect(demo.child.exitCode).toBeNull()

  demo.child.kill('SIGINT')

  expect(await demo.ended).toMatchObject({ code: 0, signal: null, stderr: '' })
  await expect(fetch(url)).rejects.toThrow()
})

async function pageOf(demo: ReturnType<typeof startNode>): Promise<string> {
  const [, url = ''] = await demo.prints(
    /The events are on the collector's page, (http:\/\/127\.0\.0\.1:\d+);/,
  )
  return url
}

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { examplePath, runNode, startNode } from './run-node.ts'

const DEMO = examplePath('shop/demo.mjs')
const PAGE_PORT = 8787

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
  expect(exit.stdout).toMatch(/total +334 +330 +4 +324 +6/)
  expect(exit.stdout).toMatch(/got a 503 from the relay; its events arrived/)
  expect(exit.stdout).toMatch(/got a 429 from the relay; its events arrived/)
  expect(exit.stdout).toMatch(/too_large +track +visit-0144/)
  expect(exit.stdout).not.toContain('\x1b')
})

test.each([
  { sabotage: 'lose', problem: 'visit-0100 did not arrive' },
  { sabotage: 'change', problem: 'visit-0100 differs at userId' },
])(
  'the demo fails when one event arrives changed or not at all: $sabotage',
  async ({ sabotage, problem }) => {
    const exit = await runNode([DEMO], { DEMO_SABOTAGE: sabotage })

    expect(exit.code).toBe(1)
    expect(exit.stdout).toContain(problem)
    expect(exit.stdout).not.toContain('Every event is accounted for')
  },
)

test('with --stay, the collector serves its page with the events until SIGINT', async () => {
  const demo = startNode([DEMO, '--stay'], {})
  onTestFinished(() => void demo.child.kill('SIGKILL'))

  const url = await pageOf(demo)
  const page = await fetch(url)
  const stats = await fetch(`${url}/api/stats`).then((reply) => reply.json())

  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toMatch(/^text\/html/)
  expect(await page.text()).toContain('<!doctype html>')
  expect(stats).toMatchObject({ accepted: 324, rejected: 6 })
  expect(demo.child.exitCode).toBeNull()

  demo.child.kill('SIGINT')

  expect(await demo.exit).toMatchObject({ code: 0, signal: null, stderr: '' })
  await expect(fetch(url)).rejects.toThrow()
})

test('with --stay and a port in use, the collector serves its page on another port, and a lost event still leads to exit code 1', async () => {
  const neighbour = createServer()
  onTestFinished(() => void neighbour.close())
  await takePort(neighbour)
  const demo = startNode([DEMO, '--stay'], { DEMO_SABOTAGE: 'lose' })
  onTestFinished(() => void demo.child.kill('SIGKILL'))

  const url = await pageOf(demo)

  expect(new URL(url).port).not.toBe(String(PAGE_PORT))
  expect((await fetch(url)).status).toBe(200)

  demo.child.kill('SIGINT')

  expect(await demo.exit).toMatchObject({ code: 1, signal: null })
})

async function pageOf(demo: ReturnType<typeof startNode>): Promise<string> {
  const [, url = ''] = await demo.output(
    /The events are on the collector's page, (http:\/\/127\.0\.0\.1:\d+);/,
  )
  return url
}

/** If another program already uses the port, there is nothing to do. */
async function takePort(server: Server): Promise<void> {
  server.listen(PAGE_PORT, '127.0.0.1')
  await once(server, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
  })
}

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { expect } from 'vitest'
import { start } from '../../../collector/test/support/process.ts'
import { startBareNats, startNats, natsTest as test } from '../support/nats.ts'

/** A front is a process that accepts events. */
async function front(log: string) {
  const { child, url, lines, stderr } = await start(['--port', '0', '--log', log])
  return { child, url, text: () => JSON.stringify(lines) + stderr() }
}

const waitFor = (read: () => string, expected: string) =>
  expect.poll(read, { timeout: 20_000 }).toContain(expected)

test('a front that has never reached its log says why, is not ready, and ends at the first signal', async () => {
  // A free port: its listener has been closed.
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  const { child, url, text } = await front(`nats://127.0.0.1:${port}`)

  await waitFor(text, `nats://127.0.0.1:${port} cannot be reached`)
  expect((await fetch(`${url}/readyz`)).status).toBe(503)
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})

test('a login that the log refuses is reported as such, without the password', async () => {
  const { port } = await startNats('--user', 'collector', '--pass', 'right-one')

  const { child, text } = await front(`nats://collector:wrong-one@127.0.0.1:${port}`)

  await waitFor(text, 'it refuses the login')
  expect(text()).not.toContain('wrong-one')
  const exited = once(child, 'exit')
  child.kill('SIGINT')
  expect(await exited).toEqual([0, null])
})

test('a server without JetStream is reported, with the remedy', async () => {
  const { url: log } = await startBareNats()

  const { url, text } = await front(log)

  await waitFor(text, 'nats-server runs without -js')
  const parts = JSON.stringify(await (await fetch(`${url}/readyz`)).json())
  expect(parts).toContain('JetStream does not respond')
})

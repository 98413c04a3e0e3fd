import { once } from 'node:events'
import { expect } from 'vitest'
import { startNats, natsTest as test } from '../support/nats.ts'
import { post, track } from '../support.ts'
import { start } from './process.ts'

test('a front whose log is silent ends all the same, soon after SIGTERM', async () => {
  const nats = await startNats()
  const { child, url, lines } = await start(['--port', '0', '--log', nats.url])
  expect((await post({ url }, '/v1/track', track())).status).toBe(200)
  await nats.pause()

  child.kill('SIGTERM')

  // A test that waits for ever fails by its timeout.
  expect(await once(child, 'exit')).toEqual([null, 'SIGTERM'])
  nats.resume()
  await expect.poll(() => lines.at(-1)?.message).toContain('ended without it')
}, 60_000)

import { once } from 'node:events'
import { expect } from 'vitest'
import { start } from '../../../collector/test/support/process.ts'
import { post, track } from '../../../collector/test/support.ts'
import { startNats, natsTest as test } from '../support/nats.ts'

const STATES = [
  ['for a moment', []],
  ['for so long that it counts as unavailable', ['the log is unavailable']],
] as const

test.for(STATES)('a front whose log has not responded %s ends soon after SIGTERM', async ([, said]) => {
  const nats = await startNats()
  const { child, url, lines } = await start(['--port', '0', '--log', nats.url])
  expect((await post({ url }, '/v1/track', track())).status).toBe(200)
  await nats.pause()
  for (const words of said)
    await expect.poll(() => lines.some(({ message }) => message.includes(words))).toBe(true)

  child.kill('SIGTERM')

  expect(await once(child, 'exit')).toEqual([0, null])
  nats.resume()
  await expect.poll(() => lines.at(-1)?.message).toContain('ended by SIGTERM')
})

test('a worker whose log does not respond ends soon after SIGTERM', async () => {
  const nats = await startNats()
  const { child, lines } = await start(['work', '--port', '0', '--log', nats.url, '--store', 'events.db'])
  await nats.pause()

  child.kill('SIGTERM')

  expect(await once(child, 'exit')).toEqual([0, null])
  nats.resume()
  await expect.poll(() => lines.at(-1)?.message).toContain('ended by SIGTERM')
})

import { connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock, openCollector, post, track } from '../support.ts'

test('an export whose client reads nothing for a minute is ended', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock })
  const batch = () => Array.from({ length: 15 }, () => track({ properties: { pad: 'x'.repeat(30_000) } }))
  // The export must be larger than the buffers of the sockets.
  for (let sent = 0; sent < 40; sent++) await post(collector, '/v1/batch', { batch: batch() })
  const idle = clock.delays().filter((delay) => delay === 60_000).length
  const socket = connect(collector.port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write('GET /api/export HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await new Promise((resolve) => socket.once('readable', resolve))
  await expect.poll(() => clock.delays().filter((delay) => delay === 60_000).length).toBe(idle + 1)

  clock.advance(60_000)
  socket.resume()

  await new Promise((resolve) => socket.once('close', resolve))
  expect(socket.bytesRead).toBeLessThan(15 * 40 * 30_000)
})

test('a page of large messages ends early, and the next page continues', async () => {
  const collector = await openCollector()
  const pad = 'x'.repeat(30_000)
  for (let sent = 0; sent < 10; sent++) {
    const batch = Array.from({ length: 15 }, (_, index) =>
      track({ properties: { pad, n: sent * 15 + index } }),
    )
    await post(collector, '/v1/batch', { batch })
  }
  const seqs: number[] = []
  const sizes: number[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const text = await (await fetch(`${collector.url}/api/events?limit=1000&cursor=${cursor}`)).text()
    const page = JSON.parse(text)
    seqs.push(...page.events.map(({ seq }: { seq: number }) => seq))
    sizes.push(text.length)
    cursor = page.next
  }

  expect(seqs).toEqual(Array.from({ length: 150 }, (_, index) => index + 1))
  expect(sizes).toHaveLength(3)
  expect(Math.max(...sizes)).toBeLessThan(2_300_000)
})

import { readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, test, vi } from 'vitest'
import { basic, openCollector, post, track } from './support.ts'

test('F150: 500 gzip bodies at once that inflate 800 times are all read', async () => {
  const collector = await openCollector()
  const body = gzipSync(`{"batch":[${' '.repeat(490_000)}]}`)

  const answers = await Promise.all(
    Array.from({ length: 500 }, () => post(collector, '/v1/batch', body, { 'content-encoding': 'gzip' })),
  )

  expect(body.length).toBeLessThan(620)
  expect(answers.map(({ status }) => status)).toEqual(Array(500).fill(200))
})

test.runIf(process.platform === 'linux')(
  'F122: 1,000 clients that reset their connection in the middle of a body leave no event and no open file',
  async () => {
    const collector = await openCollector()
    await post(collector, '/v1/track', track())
    const openFiles = () => readdirSync('/proc/self/fd').length
    const before = openFiles()
    const request = `POST /v1/batch HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic('shop')}\r\nContent-Length: 500000\r\n\r\n${'x'.repeat(200_000)}`

    for (let round = 0; round < 10; round++) {
      const sent = Array.from({ length: 100 }, async () => {
        const socket = connect(collector.port, '127.0.0.1').on('error', () => {})
        await new Promise((resolve) => socket.write(request, resolve))
        socket.resetAndDestroy()
      })
      await Promise.all(sent)
    }

    await vi.waitFor(() => expect(openFiles()).toBeLessThanOrEqual(before), 10_000)
    expect(collector.count({})).toBe(1)
  },
)

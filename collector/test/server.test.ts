import { once } from 'node:events'
import { connect, Server, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { systemClock } from '../src/clock.ts'
import { openCollector } from './support.ts'

test('the kernel queues 4,096 connections, since the runtime accepts one per turn', async () => {
  const listen = vi.spyOn(Server.prototype, 'listen')
  try {
    await openCollector()

    expect(listen.mock.calls[0]?.[0]).toMatchObject({ backlog: 4096 })
  } finally {
    listen.mockRestore()
  }
})

test('closing does not wait for a connection without any bytes, but for one that is sending a request', async () => {
  const collector = await openCollector({
    clock: {
      ...systemClock,
      setTimer: (run, delayMs) => {
        // The time limit for open requests never ends, so it does not cut any.
        return systemClock.setTimer(run, delayMs === 5000 ? 1_000_000 : delayMs)
      },
    },
  })
  const sockets = await Promise.all(
    ['', 'POST /v1/track HTTP/1.1\r\nHost: 127.0.0.1\r\n'].map(async (text) => {
      const socket = connect(collector.port, '127.0.0.1').setEncoding('utf8')
      await once(socket, 'connect')
      await new Promise<void>((resolve) => socket.write(text, () => resolve()))
      return socket
    }),
  )
  const [unused, sending] = sockets as [Socket, Socket]
  // Before this response, the server has read all earlier bytes.
  await fetch(`${collector.url}/healthz`)
  const unusedEnded = once(unused.resume(), 'close')

  const closed = collector.close()
  await unusedEnded
  sending.write('Content-Length: 0\r\n\r\n')
  const [response] = await once(sending, 'data')
  await closed

  expect(response).toMatch(/^HTTP\/1.1 400 /)
})

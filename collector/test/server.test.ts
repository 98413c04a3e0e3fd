import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../src/system-clock.ts'
import { openCollector } from './support.ts'

test('closing waits for a connection that is sending a request, but not for a connection without any bytes', async () => {
  const collector = await openCollector({
    clock: {
      ...systemClock,
      setTimer: (run, delayMs) => {
        // Makes the time limit for open requests (5 s) so long that no request is cut off.
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
  // When this request has its response, the server has read the bytes of the other connections.
  await fetch(`${collector.url}/healthz`)
  const unusedEnded = once(unused.resume(), 'close')

  const closed = collector.close()
  await unusedEnded
  sending.write('Content-Length: 0\r\n\r\n')
  const [response] = await once(sending, 'data')
  await closed

  expect(response).toMatch(/^HTTP\/1.1 400 /)
})

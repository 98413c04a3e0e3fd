import { connect as connectSocket, createServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { newEvent } from '../../../collector/src/conformance/new-event.ts'
import { describeWithPostgres, newDatabase } from '../support/postgres.ts'
import { connect, openPostgres, rowsOf } from './open.ts'

const hook = [{ destination: 'Hook' }]

/** An event without a messageId, so that a second write would not be recognised as a duplicate. */
function unnamed(name: string) {
  return newEvent('', { messageId: null, name, deliveries: hook })
}

/** `loseNextResponse` makes the proxy lose the response to a statement with the given text. */
async function proxyTo(
  port: number,
): Promise<{ port: number; loseNextResponse(to: string): void; lost(): number }> {
  let wanted: string | undefined
  let lost = 0
  const sockets = new Set<Socket>()
  const proxy = createServer((socket) => {
    const upstream = connectSocket(port, '127.0.0.1')
    let isCut = false
    for (const one of [socket, upstream]) {
      sockets.add(one)
      one.on('error', () => {})
    }
    socket.on('data', (chunk) => {
      if (wanted !== undefined && chunk.includes(wanted)) {
        wanted = undefined
        isCut = true
        lost++
      }
      upstream.write(chunk)
    })
    // At this point, the server has run the statement.
    upstream.on('data', (chunk) => (isCut ? socket.destroy() : socket.write(chunk)))
    upstream.on('close', () => socket.destroy())
    socket.on('close', () => upstream.end())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
  })
  return {
    port: (proxy.address() as { port: number }).port,
    loseNextResponse(to) {
      wanted = to
    },
    lost: () => lost,
  }
}

describeWithPostgres('a connection that is lost during a commit', () => {
  async function openBehindProxy() {
    const address = await newDatabase()
    const proxy = await proxyTo(Number(new URL(address).port))
    const { store, faults } = await openPostgres(address.replace(/:\d+\//, `:${proxy.port}/`))
    return { proxy, store, faults, client: await connect(address) }
  }

  test('the append is stored once, and returns the results of the stored events', async () => {
    const { proxy, store, client } = await openBehindProxy()
    await store.log.append([newEvent('a')])

    proxy.loseNextResponse('FROM append(')
    const kept = await store.log.append([newEvent('a'), unnamed('n1'), unnamed('n2')])

    expect(proxy.lost()).toBe(1)
    expect(kept.map(({ seq, reason }) => [seq, reason])).toEqual([
      [2, 'duplicate'],
      [3, null],
      [4, null],
    ])
    proxy.loseNextResponse('FROM append(')
    expect((await store.log.append([unnamed('n3')])).map(({ seq }) => seq)).toEqual([5])
    expect(await rowsOf(client, 'SELECT seq, name FROM event WHERE seq > 2 ORDER BY seq')).toEqual([
      ['3', 'n1'],
      ['4', 'n2'],
      ['5', 'n3'],
    ])
    expect(proxy.lost()).toBe(2)
  })

  test('the groups are stored once', async () => {
    const { proxy, store, client } = await openBehindProxy()
    proxy.loseNextResponse('FROM append(')

    await store.log.appendOnce([
      { key: 'a', events: [unnamed('a')] },
      { key: 'b', events: [unnamed('b')] },
    ])

    expect(proxy.lost()).toBe(1)
    expect(await rowsOf(client, 'SELECT name FROM event ORDER BY seq')).toEqual([['a'], ['b']])
  })

  test.each(['UPDATE delivery', 'COMMIT'])(
    'the outcome of an attempt is written once, if %s gets no response',
    async (lost) => {
      const { proxy, store, client } = await openBehindProxy()
      await store.log.append([unnamed('a')])
      const settle = async (attempts: number, state: 'pending' | 'delivered') => {
        const [claimed] = await store.deliveries.claim('Hook', 1, 0)
        const attempt = { atMs: 1000 * attempts, durationMs: 1, result: 'retry' as const }
        proxy.loseNextResponse(lost)
        await store.deliveries.settle('Hook', [
          { eventId: claimed?.eventId ?? '', state, reason: 'no', attempts, dueAtMs: 0, attempt },
        ])
      }

      await settle(1, 'pending')
      await settle(2, 'pending')
      await settle(3, 'delivered')

      expect(proxy.lost()).toBe(3)
      expect(await rowsOf(client, 'SELECT attempt, at FROM attempt ORDER BY 1')).toEqual([
        [1, '1000'],
        [2, '2000'],
      ])
      expect(await rowsOf(client, 'SELECT state, count FROM delivery_tally WHERE count <> 0')).toEqual([
        ['delivered', '1'],
      ])
    },
  )
})

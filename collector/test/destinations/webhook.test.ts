import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { Deliverer } from '../../src/destinations/deliverer.ts'
import type { DeliveryUpdate, DueDelivery } from '../../src/store/deliveries.ts'
import { fakeClock } from '../support.ts'

const HOUR_MS = 3_600_000

interface Pending extends DueDelivery {
  dueMs: number
}

/** A receiver whose responses have `status`, a queue in memory, and a deliverer with a clock that stands still. */
async function open(count: number, settings: object = {}, user = '') {
  const receiver = {
    status: 200,
    statusOf: (_key: string): number | undefined => undefined,
    got: [] as string[],
  }
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    headers.push(request.headers)
    request.resume().on('end', () => {
      const key = String(request.headers['idempotency-key'])
      receiver.got.push(key)
      response.writeHead(receiver.statusOf(key) ?? receiver.status).end('ok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const clock = fakeClock()
  const { port } = server.address() as AddressInfo
  const destination = {
    name: 'Hook',
    type: 'webhook',
    url: `http://${user}127.0.0.1:${port}/`,
    firstDelay: 1000,
    ...settings,
  }
  const [config] = parseConfig({ destinations: [destination] }, 'config').destinations
  if (config === undefined) throw new Error('expected a destination in the config')
  const pending: Pending[] = Array.from({ length: count }, (_, index) => ({
    eventId: `${index}`,
    attempts: 0,
    receivedAtMs: clock.now(),
    body: '{}',
    key: `${index}`,
    dueMs: 0,
  }))
  const updates: DeliveryUpdate[] = []
  const disk = { isFull: false }
  const reported: string[] = []
  const deliverer = new Deliverer(config, {
    queue: {
      due(_name, limit) {
        const due = pending.filter(({ dueMs }) => dueMs <= clock.now())
        return due.sort((one, other) => one.dueMs - other.dueMs).slice(0, limit)
      },
      settle(_name, settled) {
        if (disk.isFull) throw new Error('disk full')
        updates.push(...settled)
        for (const { eventId, state, attempts, dueAtMs } of settled) {
          const index = pending.findIndex((one) => one.eventId === eventId)
          const [one] = pending.splice(index, 1)
          if (one !== undefined && state === 'pending') pending.push({ ...one, attempts, dueMs: dueAtMs })
        }
      },
      nextDueMs: () => pending.map(({ dueMs }) => dueMs).sort((one, other) => one - other)[0],
    },
    clock,
    onFault: (what, cause) => void reported.push(`${what}: ${(cause as Error).message}`),
  })
  onTestFinished(() => deliverer.close())
  /** Wakes the deliverer, and resolves when it rests: then its timer is set, or nothing is pending. */
  const work = async () => {
    deliverer.wake()
    await expect.poll(() => clock.delays().length > 0 || pending.length === 0).toBe(true)
  }
  return { receiver, headers, clock, pending, updates, disk, reported, work }
}

test('F156: a request is in flight until its response has ended, or the timeout is over', async () => {
  const warnings: Error[] = []
  const warned = (warning: Error) => warnings.push(warning)
  process.on('warning', warned)
  onTestFinished(() => {
    process.off('warning', warned)
  })
  const { settings, count } = await raw('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
  const { updates, work } = await open(40, { ...settings, concurrency: 20, timeout: 1500 })
  const done = work()
  await expect.poll(count).toBe(20)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect([count(), updates.length]).toEqual([20, 0])

  await done
  await expect.poll(() => updates.length).toBe(40)

  expect(updates.every(({ state }) => state === 'delivered')).toBe(true)
  expect(warnings).toEqual([])
})

test.each([400, 405, 410, 413, 422])('a response of %d ends only its own delivery', async (status) => {
  const { receiver, updates, work } = await open(20)
  receiver.status = status

  await work()
  await expect.poll(() => updates.length).toBe(20)

  expect(updates.every(({ state, reason }) => state === 'failed' && reason === `answered ${status}`)).toBe(
    true,
  )
})

test.each([302, 401, 403, 404, 408, 425, 429, 500, 503])(
  'after a response of %d, the delivery is tried again',
  async (status) => {
    const { receiver, updates, work } = await open(1)
    receiver.status = status

    await work()

    expect(updates).toMatchObject([{ state: 'pending', reason: `answered ${status}`, attempts: 1 }])
  },
)

test('after a failure, a webhook gets nothing for a while, and each rest is longer; it is reported once', async () => {
  const { receiver, clock, pending, reported, work } = await open(100, { concurrency: 8 })
  receiver.status = 404
  const rests: number[] = []
  for (let round = 1; round <= 7; round++) {
    await work()
    // Those in flight at the first failure fail too.
    expect(receiver.got).toHaveLength(8 * round)
    rests.push(clock.delays()[0] ?? 0)
    clock.advance(rests.at(-1) ?? 0)
    await expect.poll(() => receiver.got.length).toBe(8 * (round + 1))
  }

  for (const [index, longest] of [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000].entries()) {
    expect(rests[index]).toBeGreaterThanOrEqual(longest / 2)
    expect(rests[index]).toBeLessThanOrEqual(longest)
  }
  expect(pending).toHaveLength(100)
  expect(reported).toEqual(['destination Hook is unavailable: answered 404'])
})

test('one delivery that fails for ever does not hold up the others', async () => {
  const { receiver, clock, updates, work } = await open(50, { concurrency: 1 })
  receiver.statusOf = (key) => (key === '0' ? 500 : 200)

  await expect
    .poll(() => {
      clock.advance(1000)
      void work()
      return updates.filter(({ state }) => state === 'delivered').length
    })
    .toBe(49)
})

test('a delivery is given up when its event is 24 hours old, however many attempts it had before', async () => {
  const { receiver, clock, updates, work } = await open(1)
  receiver.status = 500
  for (let attempt = 1; attempt <= 20; attempt++) {
    await work()
    await expect.poll(() => updates.length).toBe(attempt)
    clock.advance(HOUR_MS)
  }
  expect(updates.at(-1)).toMatchObject({ state: 'pending', attempts: 20 })

  clock.advance(4 * HOUR_MS)
  await expect.poll(() => updates.at(-1)).toMatchObject({ state: 'failed', attempts: 21 })
})

test('if an outcome cannot be stored, the event is not sent again at once', async () => {
  const { receiver, clock, disk, reported, work } = await open(1)
  disk.isFull = true

  await work()

  expect(clock.delays()).toEqual([5000])
  expect(receiver.got).toHaveLength(1)
  expect(reported).toEqual([expect.stringMatching(/: disk full$/)])
})

test('the user and the password in the URL become an Authorization header', async () => {
  const { headers, updates, work } = await open(1, {}, 'ada:s%3A3@')

  await work()

  expect(updates).toMatchObject([{ state: 'delivered' }])
  expect(headers[0]?.authorization).toBe(`Basic ${btoa('ada:s:3')}`)
})

test('a port that fetch refuses is named as the reason', async () => {
  const { updates, work } = await open(1, { url: 'http://127.0.0.1:6000/' })

  await work()

  expect(updates).toMatchObject([{ state: 'pending', reason: 'fetch does not allow this port' }])
})

/** A server that writes this text as soon as a request arrives, and then leaves the connection open. */
async function raw(text: string): Promise<{ settings: object; count(): number }> {
  const sockets = new Set<Socket>()
  let count = 0
  const server = createNetServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      count++
      socket.write(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { settings: { url: `http://127.0.0.1:${port}/` }, count: () => count }
}

test('F155: after a 101, the delivery is tried again', async () => {
  const { settings, count } = await raw(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
  )
  const { updates, work, clock } = await open(1, settings)

  await work()
  expect(updates).toMatchObject([{ state: 'pending', reason: expect.any(String) }])
  clock.advance(1000)
  await expect.poll(count).toBe(2)
})

import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { Deliverer } from '../../src/destinations/deliverer.ts'
import { Pace } from '../../src/destinations/pace.ts'
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
    got: [] as string[],
    most: 0,
    now: 0,
    connections: 0,
    wait: Promise.resolve(),
  }
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    receiver.now++
    receiver.most = Math.max(receiver.most, receiver.now)
    headers.push(request.headers)
    request.resume().on('end', async () => {
      await receiver.wait
      receiver.got.push(String(request.headers['idempotency-key']))
      receiver.now--
      response.writeHead(receiver.status).end('ok')
    })
  })
  server.on('connection', () => receiver.connections++)
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
  const calls = { due: 0, settle: 0 }
  const deliverer = new Deliverer(config, {
    queue: {
      due(_name, limit) {
        calls.due++
        const due = pending.filter(({ dueMs }) => dueMs <= clock.now())
        return due.sort((one, other) => one.dueMs - other.dueMs).slice(0, limit)
      },
      settle(_name, settled) {
        calls.settle++
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
    onFault: () => {},
    onRecovery: () => {},
  })
  onTestFinished(() => deliverer.close())
  /** Wakes the deliverer, and resolves when it rests: then its timer is set, or nothing is pending. */
  const work = async () => {
    deliverer.wake()
    await expect.poll(() => clock.delays().length > 0 || pending.length === 0).toBe(true)
  }
  return { receiver, headers, clock, deliverer, pending, updates, calls, work }
}

test('a webhook gets at most as many requests at a time as its concurrency allows', async () => {
  const { receiver, updates, work } = await open(20, { concurrency: 4 })
  let respond = () => {}
  receiver.wait = new Promise<void>((resolve) => {
    respond = resolve
  })
  const done = work()
  await expect.poll(() => receiver.now).toBe(4)

  respond()
  await done
  await expect.poll(() => updates.length).toBe(20)

  expect(receiver.most).toBe(4)
})

test('F156: a request is in flight until its response has ended, or the timeout is over', async () => {
  const warnings: Error[] = []
  const warned = (warning: Error) => warnings.push(warning)
  process.on('warning', warned)
  onTestFinished(() => {
    process.off('warning', warned)
  })
  const { settings, count } = await raw('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
  const { updates, work } = await open(60, { ...settings, concurrency: 20, timeout: 500 })
  const done = work()
  await expect.poll(count).toBe(20)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect([count(), updates.length]).toEqual([20, 0])

  await done
  await expect.poll(() => updates.length).toBe(60)

  expect(updates.every(({ state }) => state === 'delivered')).toBe(true)
  expect(warnings).toEqual([])
})

test('100 deliveries need few connections and few queries', async () => {
  const { receiver, updates, calls, work } = await open(100, { concurrency: 4 })

  await work()
  await expect.poll(() => updates.length).toBe(100)

  expect(updates.every(({ state, attempts }) => state === 'delivered' && attempts === 1)).toBe(true)
  expect(receiver.connections).toBeLessThanOrEqual(4)
  expect(calls.due).toBeLessThan(15)
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

test('after eight failures in a row, a webhook is paused; each probe takes another delivery', async () => {
  const { receiver, clock, pending, work } = await open(100, { concurrency: 8 })
  receiver.status = 404
  await work()
  // Those in flight at the eighth failure fail too.
  const before = receiver.got.length
  expect(before).toBeLessThan(16)

  for (let probe = 1; probe <= 5; probe++) {
    const [restMs = 0] = clock.delays()
    expect(restMs).toBeGreaterThan(0)
    clock.advance(restMs)
    await expect.poll(() => receiver.got.length).toBe(before + probe)
    await work()
  }

  expect(new Set(receiver.got).size).toBe(before + 5)
  expect(pending).toHaveLength(100)
})

test('failures of a single delivery do not pause the webhook', async () => {
  const { receiver, clock, updates, work } = await open(1)
  receiver.status = 500

  for (let attempt = 1; attempt <= 9; attempt++) {
    await work()
    await expect.poll(() => updates.length).toBe(attempt)
    clock.advance(60_000)
  }

  expect(updates.at(-1)).toMatchObject({ state: 'pending', attempts: 9 })
})

test('after a pause, a webhook gets one request at a time, and twice as many after each success', () => {
  const pace = new Pace(8)
  const limits: number[] = []
  const saw = (result: 'delivered' | 'retry', eventId: string) => {
    pace.saw(result === 'retry' ? { result, reason: 'answered 503' } : { result }, eventId)
    limits.push(pace.limit)
  }

  for (let failure = 1; failure <= 9; failure++) saw('retry', `${failure}`)
  for (let success = 1; success <= 5; success++) saw('delivered', '1')

  expect(limits).toEqual([...Array(7).fill(8), 1, 1, ...[1, 2, 4, 8, 8]])
})

test('after a pause, everything that is due is delivered', async () => {
  const { receiver, clock, updates, work } = await open(60, { concurrency: 8 })
  receiver.status = 503
  await work()
  receiver.status = 200

  await expect
    .poll(() => {
      clock.advance(60_000)
      return updates.filter(({ state }) => state === 'delivered').length
    })
    .toBe(60)
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

test('while the webhook is paused, deliveries are given up only after 72 hours', async () => {
  const { receiver, clock, updates, work } = await open(100)
  receiver.status = 500
  await work()
  const before = receiver.got.length
  const failed = () => updates.filter(({ state }) => state === 'failed').length

  clock.advance(71 * HOUR_MS)
  await expect.poll(() => receiver.got.length).toBe(before + 1)
  await work()
  expect(failed()).toBe(0)
  clock.advance(HOUR_MS)
  await expect.poll(failed).toBe(1)
})

test('the user and the password in the URL become an Authorization header', async () => {
  const { headers, updates, work } = await open(1, {}, 'ada:s%3A3@')

  await work()

  expect(updates).toMatchObject([{ state: 'delivered' }])
  expect(headers[0]?.authorization).toBe(`Basic ${btoa('ada:s:3')}`)
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
  expect(updates).toMatchObject([{ state: 'pending', reason: 'the connection failed' }])
  clock.advance(1000)
  await expect.poll(count).toBe(2)
})

import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished } from 'vitest'
import { sleep } from '../../../collector/src/clock.ts'
import { ConfigError } from '../../../collector/src/config/config-error.ts'
import { newEvent, newRequest } from '../../../collector/src/conformance/new-event.ts'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { decode } from '../../src/log/codec.ts'
import type { LogMessage } from '../../src/log/ports.ts'
import type { LogSettings } from '../../src/log/settings.ts'
import type { NatsLog } from '../../src/nats/nats-log.ts'
import { openLog } from '../../src/nats/open.ts'
import { startNats, natsTest as test } from '../support/nats.ts'

async function open(
  url: string,
  settings: Partial<LogSettings> = {},
  faults: string[] = [],
): Promise<NatsLog> {
  const onFault = (what: string, cause: unknown) => void faults.push(`${what}: ${(cause as Error).message}`)
  const log = await openLog(url, {
    settings: { maxBytes: 50_000_000, ...settings },
    clock: systemClock,
    onFault,
  })
  onTestFinished(() => log.close())
  return log
}

async function managerOf(url: string) {
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  return jetstreamManager(connection)
}

async function takeAll(log: NatsLog, count: number): Promise<LogMessage[]> {
  const subscription = log.subscribe()
  const messages: LogMessage[] = []
  while (messages.length < count) messages.push(...(await subscription.take(count)))
  await subscription.close()
  return messages
}

const idsIn = (messages: readonly LogMessage[]) =>
  messages.flatMap(({ payload }) => decode(payload).events.map(({ messageId }) => messageId))

test('appended events are stored by the log, and read by another process in order', async () => {
  const { url } = await startNats()
  const front = await open(url)

  expect(await front.append([newEvent('a'), newEvent('b', { reason: 'no_event' })])).toEqual([
    { status: 'accepted' },
    { status: 'rejected' },
  ])
  await front.append([newEvent('c')])
  expect(await front.lag()).toMatchObject({ waiting: 2, deadLetters: 0, oldestMs: expect.any(Number) })

  const worker = await open(url)
  const messages = await takeAll(worker, 2)
  expect(idsIn(messages)).toEqual(['a', 'b', 'c'])
  for (const message of messages) message.done()
  await expect
    .poll(() => front.lag())
    .toEqual({
      waiting: 0,
      oldestMs: null,
      deadLetters: 0,
      areDeadLettersFull: false,
      fill: expect.any(Number),
    })
})

/** A log that still has a processed message, because its server was killed before it stored the acknowledgement. */
async function withProcessedMessage(): Promise<{
  log: NatsLog
  manager: Awaited<ReturnType<typeof managerOf>>
}> {
  const server = await startNats()
  const log = await open(server.url)
  await log.append([newEvent('processed')])
  const messages = join(server.folder, 'jetstream/$G/streams/trackpost/msgs')
  const before = join(server.folder, 'before')
  cpSync(messages, before, { recursive: true })
  for (const message of await takeAll(log, 1)) message.done()
  await expect.poll(() => log.lag()).toMatchObject({ waiting: 0 })
  await server.terminate()
  rmSync(messages, { recursive: true })
  renameSync(before, messages)
  await server.start()
  return { log: await open(server.url), manager: await managerOf(server.url) }
}

test('a processed message that comes back after a kill of the server does not count as pending', async () => {
  const { log, manager } = await withProcessedMessage()
  expect((await manager.streams.info('trackpost')).state.messages).toBe(1)

  expect(await log.lag()).toEqual({
    waiting: 0,
    oldestMs: null,
    deadLetters: 0,
    areDeadLettersFull: false,
    fill: expect.any(Number),
  })
  await log.append([newEvent('b')])
  await expect.poll(() => log.lag()).toMatchObject({ waiting: 1, oldestMs: expect.any(Number) })
})

test('after a kill, the lag is the age of the oldest pending message, even if an earlier message was deleted', async () => {
  const { log, manager } = await withProcessedMessage()
  await log.append([newEvent('gone')])
  await manager.streams.deleteMessage('trackpost', (await manager.streams.info('trackpost')).state.last_seq)
  const startedMs = Date.now()
  await log.append([newEvent('pending')])

  await expect.poll(() => log.lag()).toMatchObject({ waiting: 1 })
  // The processed message is older, since the server was restarted after it.
  expect((await log.lag())?.oldestMs).toBeLessThanOrEqual(Date.now() - startedMs + 5)
})

test('a request that is sent again within the window is in the log once; a different request with one of its ids is accepted', async () => {
  const { url } = await startNats()
  const log = await open(url, { duplicateWindow: 1 })
  const waiting = async () => {
    const { state } = await (await managerOf(url)).streams.info('trackpost')
    return state.messages
  }

  await log.append([newEvent('a'), newEvent('b')])
  await log.append([newEvent('a', { receivedAtMs: 5 }), newEvent('b', { receivedAtMs: 5 })])
  expect(await waiting()).toBe(1)
  await log.append([newEvent('a'), newEvent('c')])
  expect(await waiting()).toBe(2)

  // When the log accepts the first request again, the window is over. Then only the store would recognise the duplicates.
  await expect
    .poll(async () => {
      await log.append([newEvent('a'), newEvent('b')])
      return waiting()
    })
    .toBe(3)
})

test('a message that was not acknowledged is redelivered, to any subscriber', async () => {
  const { url } = await startNats()
  const [first, second] = [await open(url), await open(url)]
  await first.append([newEvent('a')])
  const [held] = await takeAll(first, 1)

  held?.retryAfter(1)

  expect(idsIn(await takeAll(second, 1))).toEqual(['a'])
})

test('a worker requests more messages only when it has taken all the previous ones', async () => {
  const { url } = await startNats()
  const [front, worker] = [await open(url), await open(url)]
  await Promise.all(Array.from({ length: 500 }, (_, index) => front.append([newEvent(`m${index}`)])))
  const subscription = worker.subscribe()
  onTestFinished(() => subscription.close())
  const manager = await managerOf(url)
  const state = async () => {
    const { num_ack_pending, num_waiting } = await manager.consumers.info('trackpost', 'workers')
    return { held: num_ack_pending, requests: num_waiting }
  }

  let taken = 0
  while (taken < 100) taken += (await subscription.take(100)).length

  // Without a request, the server can send nothing more.
  expect(await state()).toEqual({ held: 100, requests: 0 })
  while (taken < 200) taken += (await subscription.take(100)).length
  expect(await state()).toEqual({ held: 200, requests: 0 })
})

test('a worker reports to the log that a message is in progress', async () => {
  const { url } = await startNats()
  const log = await open(url)
  const connection = await connect({ servers: url })
  onTestFinished(() => connection.close())
  const told = connection.subscribe('$JS.ACK.trackpost.workers.>', { max: 2 })
  await connection.flush()
  await log.append([newEvent('a')])
  const [held] = await takeAll(log, 1)

  held?.working()
  held?.done()

  const words: string[] = []
  for await (const { data } of told) words.push(Buffer.from(data).toString())
  expect(words).toEqual(['+WPI', '+ACK'])
})

test('when a worker returns messages at its end, the next one gets each of them at once and only once', async () => {
  const { url } = await startNats()
  const [first, second] = [await open(url), await open(url)]
  for (const id of ['a', 'b', 'c', 'd']) await first.append([newEvent(id)])
  const subscription = first.subscribe()
  const held = await subscription.take(1)
  const manager = await managerOf(url)
  const given = async () => (await manager.consumers.info('trackpost', 'workers')).num_ack_pending
  await expect.poll(given).toBe(4)
  // A later response on this connection means that the earlier messages have arrived.
  await first.lag()

  await subscription.close()
  expect(await subscription.take(5)).toEqual([])
  for (const message of held) message.retryAfter(1)
  // A moment in which no worker requests messages.
  await sleep(systemClock, 100)

  // If one came twice, another would be missing.
  expect(idsIn(await takeAll(second, 4)).toSorted()).toEqual(['a', 'b', 'c', 'd'])
})

test('a killed log is unavailable at once, and is back after a restart, with all its messages', async () => {
  const server = await startNats()
  const faults: string[] = []
  const log = await open(server.url, {}, faults)
  const unavailable: string[] = []
  log.onUnavailable((reason) => unavailable.push(reason))
  await log.append([newEvent('a')])

  await server.kill()
  await expect(log.append([newEvent('b')])).rejects.toThrow()
  await expect.poll(async () => (await log.health()).isReady).toBe(false)
  await expect(log.append([newEvent('b')])).rejects.toThrow('the connection to the log is cut')
  expect(await log.lag()).toBeNull()
  await server.start()

  await expect.poll(async () => (await log.health()).isReady).toBe(true)
  await log.append([newEvent('b')])
  expect(new Set(idsIn(await takeAll(log, 2)))).toEqual(new Set(['a', 'b']))
  expect(faults).toContain('the log is unavailable: the connection to the log is cut')
  expect(unavailable).toEqual(['the connection to the log is cut'])
})

test('calls time out if the log does not respond, and work again when it does', async () => {
  const server = await startNats()
  const log = await open(server.url)
  await log.append([newEvent('a')])

  await server.pause()
  const first = log.append([newEvent('b')])
  await expect(first).rejects.toThrow('the log does not respond in time')
  // One call tries; the others fail at once.
  const all = await Promise.allSettled(
    Array.from({ length: 50 }, (_, index) => log.append([newEvent(`x${index}`)])),
  )
  expect(all.every(({ status }) => status === 'rejected')).toBe(true)
  expect((await log.health()).reason).not.toBeNull()
  server.resume()

  await expect.poll(async () => (await log.health()).isReady).toBe(true)
  await log.append([newEvent('c')])
  expect(await log.health()).toMatchObject({ isReady: true, reason: null })
})

test('a full log is reported, and accepts events again when workers have made room', async () => {
  const { url } = await startNats()
  const log = await open(url, { maxBytes: 100_000 })
  const event = (index: number) => newEvent(`m${index}`, { body: `{"x":"${'x'.repeat(9000)}"}` })
  let kept = 0
  const fill = async () => {
    for (;;) {
      await log.append([event(kept)])
      kept++
    }
  }

  await expect(fill()).rejects.toThrow('the log is full')
  expect(kept).toBeGreaterThan(5)
  expect(await log.health()).toMatchObject({ isReady: false, reason: expect.stringContaining('full') })

  for (const message of await takeAll(log, kept)) message.done()
  // The log must become ready without an append, since a process that is not ready gets no events.
  await expect.poll(async () => (await log.health()).isReady).toBe(true)
  await log.append([event(999)])
})

test('a process waits for a log that is unavailable at its start', async () => {
  const server = await startNats()
  await server.kill()
  const faults: string[] = []
  const log = await open(server.url, {}, faults)
  expect(await log.health()).toEqual({
    part: 'log',
    isReady: false,
    reason: `${server.url} cannot be reached: connection refused`,
    waiting: 0,
  })
  await expect(log.append([newEvent('a')])).rejects.toThrow('cannot be reached')
  expect(faults).toEqual([`the log cannot be used: ${server.url} cannot be reached: connection refused`])

  await server.start()

  await expect.poll(async () => (await log.health()).isReady).toBe(true)
  await log.append([newEvent('a')])
})

test('a stream that could lose accepted events is refused at the start, and the error names the limit', async () => {
  const { url } = await startNats()
  const manager = await managerOf(url)
  const subjects = ['trackpost.events']
  const limits: Array<[string, object]> = [
    ['storage file, found memory', { storage: 'memory', retention: 'workqueue', discard: 'new' }],
    ['retention workqueue, found limits', { storage: 'file', retention: 'limits', discard: 'new' }],
    ['discard new, found old', { storage: 'file', retention: 'workqueue', discard: 'old' }],
    ['no max_age', { storage: 'file', retention: 'workqueue', discard: 'new', max_age: 60_000_000_000 }],
  ]
  for (const [words, config] of limits) {
    await manager.streams.add({ name: 'trackpost', subjects, ...config })
    await expect(open(url), words).rejects.toThrow(ConfigError)
    await expect(open(url)).rejects.toThrow(words)
    await manager.streams.delete('trackpost')
  }
  await expect(open(url, { replicas: 3 })).rejects.toThrow('log.replicas')
})

test('a stream with other limits is used unchanged, and the difference is reported', async () => {
  const { url } = await startNats()
  await open(url, { maxBytes: 10_000_000, duplicateWindow: 60 })
  const faults: string[] = []

  const log = await open(url, { maxBytes: 20_000_000 }, faults)

  expect(faults.join('\n')).toContain('log.maxBytes of the stream trackpost is 10000000, not 20000000')
  expect(faults.join('\n')).toContain('log.duplicateWindow of the stream trackpost is 60, not 120')
  await log.append([newEvent('a')])
})

test('a stream that is deleted while a process runs is created again, and read again', async () => {
  const { url } = await startNats()
  const log = await open(url)
  const subscription = log.subscribe()
  onTestFinished(() => subscription.close())
  await log.append([newEvent('a')])
  for (const message of await subscription.take(1)) message.done()

  await (await managerOf(url)).streams.delete('trackpost')
  await expect(log.append([newEvent('b')])).rejects.toThrow()

  await expect
    .poll(() =>
      log.append([newEvent('c')]).then(
        () => 'kept',
        () => 'not',
      ),
    )
    .toBe('kept')
  expect(idsIn(await subscription.take(1))).toEqual(['c'])
})

test('a dead letter is listed with its reason, and returns to the log when it is retried', async () => {
  const { url } = await startNats()
  const log = await open(url)
  const encoded = (id: string) => Buffer.from(`1 key-${id}\n${JSON.stringify(newEvent(id))}\n\n`)
  await log.deadLetters.add('key-a', encoded('a'), 'refused: Größe\r\nX-Forged: 1')
  await log.deadLetters.add('key-a', encoded('a'), 'again')
  await log.deadLetters.add('key-b', encoded('b'), 'refused')
  await log.deadLetters.add(undefined, Buffer.from('garbage'), '')

  const letters = await log.deadLetters.list(10)
  expect(letters).toMatchObject([
    { source: 'shop', name: 'Größe gewählt', messageId: 'a', reason: 'refused: Gr e X-Forged: 1' },
    { messageId: 'b', reason: 'refused' },
    { source: null, name: null, messageId: null, reason: 'unknown', bytes: 7 },
  ])
  expect(await log.deadLetters.list(1)).toHaveLength(1)
  const ids = letters.map(({ id }) => id)
  expect(await log.deadLetters.retry([ids[1] ?? '', ids[1] ?? '', '99', 'x', '-1'])).toBe(1)
  expect(await log.deadLetters.list(10)).toHaveLength(2)
  expect(idsIn(await takeAll(log, 1))).toEqual(['b'])

  expect(await log.deadLetters.retry()).toBe(2)
  expect(await log.deadLetters.list(10)).toEqual([])
  // When the retried message becomes a dead letter once more, it is stored under another key.
  await log.deadLetters.add('key-b.2', encoded('b'), 'refused')
  expect(await log.deadLetters.list(10)).toHaveLength(1)
})

test('lag() shows how full the log is', async () => {
  const { url } = await startNats()
  const log = await open(url, { maxBytes: 100_000 })
  expect(await log.lag()).toMatchObject({ fill: 0 })

  await log.append([newEvent('a', { body: JSON.stringify({ text: 'x'.repeat(40_000) }) })])

  await expect.poll(async () => (await log.lag())?.fill).toBeGreaterThan(0.4)
  expect((await log.lag())?.fill).toBeLessThan(0.5)
})

test('a dead letter is discarded by its id; if there is no room for more, add() fails, and lag() shows it', async () => {
  const { url } = await startNats()
  const log = await open(url, { maxBytes: 100_000 })
  const payload = Buffer.alloc(30_000, 'x')
  const add = () => log.deadLetters.add(undefined, payload, 'refused')
  await add()
  expect(await log.lag()).toMatchObject({ deadLetters: 1, areDeadLettersFull: false })

  await expect(Promise.all(Array.from({ length: 10 }, add))).rejects.toThrow(
    'the dead letters are full: try some again, or discard them',
  )

  await expect.poll(async () => (await log.lag())?.areDeadLettersFull).toBe(true)
  const ids = (await log.deadLetters.list(10)).map(({ id }) => id)
  expect(await log.deadLetters.discard([ids[0] ?? '', ids[0] ?? '', ids[2] ?? '', '99', 'x'])).toBe(2)
  expect((await log.deadLetters.list(10)).map(({ id }) => id)).toEqual(
    ids.filter((_, nth) => nth !== 0 && nth !== 2),
  )
  await expect.poll(async () => (await log.lag())?.areDeadLettersFull).toBe(false)
  await add()
})

test('a dead letter that several processes discard at once is discarded once, and none of them fails', async () => {
  const { url } = await startNats()
  const logs = await Promise.all([open(url), open(url), open(url)])
  const [log] = logs as [NatsLog, ...NatsLog[]]
  for (let index = 0; index < 30; index++)
    await log.deadLetters.add(undefined, Buffer.from(String(index)), 'refused')
  const ids = (await log.deadLetters.list(100)).map(({ id }) => id)

  const discarded = await Promise.all(logs.map(({ deadLetters }) => deadLetters.discard(ids)))

  expect(discarded.reduce((sum, count) => sum + count)).toBe(30)
  expect(await log.deadLetters.list(100)).toEqual([])
})

test('requests are appended too, with ids that no SQLite file uses', async () => {
  const { url } = await startNats()
  const [front, worker] = [await open(url), await open(url)]
  const got: Uint8Array[] = []
  worker.onRequests((payload) => got.push(payload))
  const ids = Array.from({ length: 120 }, () => front.requests.nextId())

  for (const id of ids) front.requests.append(newRequest(id))

  const requests = () => got.flatMap((payload) => JSON.parse(Buffer.from(payload).toString()))
  await expect.poll(() => requests().map(({ id }) => id)).toEqual(ids)
  expect(Number(ids[0])).toBeGreaterThan(2 ** 52)
  expect(ids.every((id) => Number.isSafeInteger(Number(id)))).toBe(true)
})

test('an address that cannot be used is refused', async () => {
  const paths = ['nats://host/path', 'nats://host?tls=true']
  for (const address of ['http://x', 'nats://', 'nats://a b', 'nats:x', 'nats://a,,b', ...paths]) {
    await expect(open(address), address).rejects.toThrow(ConfigError)
  }
})

test('a login is used, and printed nowhere', async () => {
  const server = await startNats('--user', 'u', '--pass', 'p@ss/w')
  const host = server.url.slice('nats://'.length)

  const log = await open(`nats://u:p%40ss%2Fw@${host}`)

  await log.append([newEvent('a')])
  expect(log.address).toBe(server.url)
  const faults: string[] = []
  const wrong = await open(`nats://u:secret@${host}`, {}, faults)
  expect((await wrong.health()).isReady).toBe(false)
  expect(JSON.stringify([faults, await wrong.health()])).not.toContain('secret')
})

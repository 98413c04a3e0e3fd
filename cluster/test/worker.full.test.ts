import { expect } from 'vitest'
import type { Outcome } from '../src/destinations/destination.ts'
import { newEvent } from './support/events.ts'
import { natsTest, startNats } from './support/nats.ts'
import { attached, Memory, numbered, openStream, publish, startWorker, until } from './support/stream.ts'

const ids = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `id-${from + index}`)

natsTest('a worker writes each event once, and the stream then forgets it', async () => {
  const stream = await openStream((await startNats()).url)
  const { worker, memory } = startWorker(stream)
  await attached(stream)

  await publish(stream, ...numbered(250), ...numbered(250))

  await until(async () => (await stream.manager.streams.info('trackpost')).state.messages === 0)
  expect(memory.written.toSorted()).toEqual(ids(250).toSorted())
  expect(await worker.metrics()).toContain('trackpost_cluster_written_total{destination="Memory"} 250\n')
  expect(await worker.metrics()).toContain('trackpost_cluster_lag_events{destination="Memory"} 0\n')
})

natsTest('events stay in the stream until the destination has them', async () => {
  const stream = await openStream((await startNats()).url)
  const { worker, memory } = startWorker(stream)
  let open = () => {}
  memory.gate = new Promise<void>((resolve) => {
    open = resolve
  })
  await attached(stream)

  await publish(stream, ...numbered(3))
  await until(() => memory.attempts > 0)
  expect((await stream.manager.streams.info('trackpost')).state.messages).toBe(3)
  expect(await worker.metrics()).toContain('trackpost_cluster_lag_events{destination="Memory"} 3\n')
  expect(await worker.metrics()).toMatch(
    /trackpost_cluster_lag_seconds\{destination="Memory"\} 0?\.?\d*[1-9]/,
  )

  open()
  await until(async () => (await stream.manager.streams.info('trackpost')).state.messages === 0)
  expect(memory.written).toHaveLength(3)
})

natsTest('a destination that is down gets its events when it is back, and holds up no other', async () => {
  const stream = await openStream((await startNats()).url)
  const down = startWorker(stream, { name: 'Down' })
  const up = startWorker(stream, { name: 'Up' })
  down.memory.isDown = true
  await attached(stream, 'down')
  await attached(stream, 'up')

  await publish(stream, ...numbered(200))
  await until(() => up.memory.written.length === 200 && down.memory.attempts > 3)
  expect(down.memory.written).toEqual([])
  expect(down.worker.reason).toBe('it is down')
  expect(down.faults).toContain('Down cannot be written: it is down')
  expect(await down.worker.metrics()).toMatch(
    /trackpost_cluster_failed_batches_total\{destination="Down"\} [1-9]/,
  )

  down.memory.isDown = false
  await until(() => down.memory.written.length === 200)
  expect(down.memory.written.toSorted()).toEqual(ids(200).toSorted())
  await until(() => down.worker.reason === null)
})

natsTest(
  'a destination that has not taken any event yet loses none when the server is started again',
  async () => {
    const server = await startNats()
    const stream = await openStream(server.url)
    const down = startWorker(stream, { name: 'Down' })
    const up = startWorker(stream, { name: 'Up' })
    down.memory.isDown = true
    await attached(stream, 'down')
    await attached(stream, 'up')
    await publish(stream, ...numbered(100))
    // An acknowledgement that a killed server has not stored would hide the loss.
    const acknowledged = async () =>
      (await stream.manager.consumers.info('trackpost', 'up')).ack_floor.stream_seq
    await until(async () => up.memory.written.length === 100 && (await acknowledged()) === 100)

    for (const end of ['terminate', 'kill'] as const) {
      await server[end]()
      await until(() => stream.reason !== null)
      await server.start()
      await until(() => stream.reason === null)
      expect((await stream.manager.streams.info('trackpost')).state.messages).toBe(100)
    }

    down.memory.isDown = false
    await until(() => down.memory.written.length === 100)
    expect(down.memory.written.toSorted()).toEqual(ids(100).toSorted())
  },
)

natsTest(
  'an event that is refused becomes a dead letter with its reason, and can be tried again',
  async () => {
    const stream = await openStream((await startNats()).url)
    const first = startWorker(stream)
    first.memory.outcomeOf = ({ messageId }): Outcome =>
      messageId === 'id-1' ? { result: 'refused', reason: 'too\r\nold' } : { result: 'written' }
    await attached(stream)

    await publish(stream, ...numbered(3))
    await until(async () => (await stream.manager.streams.info('trackpost-dead')).state.messages === 1)
    const letter = await stream.manager.streams.getMessage('trackpost-dead', { seq: 1 })
    expect(letter?.subject).toBe('trackpost-dead.memory')
    expect(letter?.header.get('Trackpost-Reason')).toBe('too old')
    expect(letter?.header.get('Trackpost-Destination')).toBe('Memory')
    expect(first.memory.written).toEqual(['id-0', 'id-2'])
    expect(first.faults).toEqual(['an event became a dead letter: too\r\nold'])

    const refusing = startWorker(stream, { fromDeadLetters: true, memory: first.memory })
    await refusing.ended
    expect((await stream.manager.streams.info('trackpost-dead')).state.messages).toBe(1)
    const second = startWorker(stream, { fromDeadLetters: true })
    await second.ended
    expect(second.memory.written).toEqual(['id-1'])
    await until(async () => (await stream.manager.streams.info('trackpost-dead')).state.messages === 0)
  },
)

natsTest('an event that fails alone keeps no other waiting, and ends as a dead letter', async () => {
  const stream = await openStream((await startNats()).url)
  const { memory, faults } = startWorker(stream, { maxAttempts: 3 })
  let attempts = 0
  memory.outcomeOf = ({ messageId }): Outcome => {
    if (messageId !== 'id-0') return { result: 'written' }
    attempts++
    return { result: 'failed', reason: 'answered 500' }
  }
  await attached(stream)

  await publish(stream, ...numbered(2))

  await until(async () => (await stream.manager.streams.info('trackpost-dead')).state.messages === 1)
  expect(memory.written).toEqual(['id-1'])
  expect(attempts).toBe(3)
  expect(faults).toEqual(['an event became a dead letter: answered 500'])
})

natsTest('integrations turn a destination off by its name, and a worker skips the event', async () => {
  const stream = await openStream((await startNats()).url)
  const { worker, memory } = startWorker(stream, { name: 'My CRM' })
  await attached(stream, 'my-crm')

  await publish(
    stream,
    newEvent('off', { message: { integrations: { 'My CRM': false } } }),
    newEvent('all off', { message: { integrations: { All: false } } }),
    newEvent('only', { message: { integrations: { All: false, 'My CRM': { list: 7 } } } }),
    newEvent('on', { message: { integrations: { Other: false } } }),
  )

  await until(async () => (await stream.manager.streams.info('trackpost')).state.messages === 0)
  expect(memory.written).toEqual(['only', 'on'])
  expect(await worker.metrics()).toContain('trackpost_cluster_skipped_total{destination="My CRM"} 2\n')
})

natsTest('what another program has written into the stream becomes a dead letter', async () => {
  const stream = await openStream((await startNats()).url)
  const { memory, faults } = startWorker(stream)
  await attached(stream)

  for (const text of ['hello', '{}\n{}', `${JSON.stringify({ source: 's', receivedAt: '' })}\n{}`])
    await stream.publish('trackpost.accepted', Buffer.from(text))
  await publish(stream, newEvent('good'))

  await until(() => memory.written.length === 1)
  await until(async () => (await stream.manager.streams.info('trackpost-dead')).state.messages === 3)
  expect(new Set(faults)).toEqual(
    new Set([
      'an event became a dead letter: the message was not written by a front of this version',
      'an event became a dead letter: the event has no message',
    ]),
  )
})

natsTest('workers of one destination share its events', async () => {
  const stream = await openStream((await startNats()).url)
  const memory = new Memory()
  memory.batchSize = 10
  const one = startWorker(stream, { memory })
  const other = startWorker(stream, { memory })
  await attached(stream)

  await publish(stream, ...numbered(300))

  await until(() => memory.written.length >= 300)
  await one.worker.close()
  await other.worker.close()
  expect(memory.written.toSorted()).toEqual(ids(300).toSorted())
})

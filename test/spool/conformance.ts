import { expect, test } from 'vitest'
import type { Spool, SpoolRecord } from '../../src/line/spool.ts'
import { bytesOf, readMessages, readRecords, turn } from './support.ts'

/** A store, and simulated processes that open it one after the other. */
export interface SpoolStore {
  open(): Promise<Spool>
  /** Ends the process that opened `spool`, like SIGKILL. */
  kill(spool: Spool): Promise<void>
}

/** @param create Creates an empty store. */
export function describeConformance(create: () => Promise<SpoolStore>): void {
  const append = (spool: Spool, ...messages: string[]): SpoolRecord[] =>
    messages.map((message) => spool.append(bytesOf(message), true) as SpoolRecord)

  test('the next process reads appended messages, byte for byte and in order', async () => {
    const store = await create()
    const spool = await store.open()
    const messages = ['{"a":1}', '{"b":"Zoë ☕"}', `{"c":"${'x'.repeat(100_000)}"}`]
    const bytes = messages.map((message) => Buffer.from(message))
    for (const message of bytes) expect(spool.append(message, true)).toBeDefined()
    // After the call, the caller may reuse the memory of a message.
    for (const message of bytes) message.fill(0)
    expect(await spool.sync()).toBe(true)
    await store.kill(spool)

    const next = await store.open()
    expect(await readMessages(next, 3)).toEqual(messages)
    await next.close()
  })

  test('isKept of a record is true after a sync: another process could read the message', async () => {
    const store = await create()
    const spool = await store.open()
    const [record] = append(spool, 'a')
    await spool.sync()
    expect(record?.isKept).toBe(true)
    await spool.close()
  })

  test('acknowledged messages are not read again', async () => {
    const store = await create()
    const spool = await store.open()
    const [, second] = append(spool, 'a', 'b', 'c')
    await turn()
    spool.acknowledge(second as SpoolRecord)
    // A second acknowledgement has no effect.
    spool.acknowledge(second as SpoolRecord)
    await turn()
    await spool.sync()
    await store.kill(spool)

    const next = await store.open()
    const read = await readRecords(next, 2)
    expect(read.map(({ text, isOwn }) => [text, isOwn])).toEqual([
      ['a', false],
      ['c', false],
    ])
    for (const { record } of read) next.acknowledge(record)
    await turn()
    const own = append(next, 'd')
    await next.sync()
    await store.kill(next)

    const last = await store.open()
    expect(own).toHaveLength(1)
    expect(await readMessages(last, 1)).toEqual(['d'])
    await last.close()
  })

  test('messages that the client releases are read again, before those of other processes', async () => {
    const store = await create()
    const first = await store.open()
    append(first, 'left')
    await first.sync()
    await store.kill(first)

    const spool = await store.open()
    append(spool, 'held')
    for (const message of ['let go 1', 'let go 2']) spool.append(bytesOf(message), false)
    const read = await readRecords(spool, 3)

    expect(read.map(({ text, isOwn }) => [text, isOwn])).toEqual([
      ['let go 1', true],
      ['let go 2', true],
      ['left', false],
    ])
    await spool.close()
  })

  test('closing keeps messages that were not acknowledged, and ends the reading', async () => {
    const store = await create()
    const spool = await store.open()
    append(spool, 'a')
    const reading = spool.recover()[Symbol.asyncIterator]().next()
    await spool.close()
    await spool.close()

    expect(await reading).toMatchObject({ done: true })
    const next = await store.open()
    expect(await readMessages(next, 1)).toEqual(['a'])
    await next.close()
  })
}

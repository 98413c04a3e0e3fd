/** Damaged files, full, bad or slow disks, and removed directories (docs/faults.md, rows F90 to F93, F95, F97, F100, F149). */
import { describe, expect, test, vi } from 'vitest'
import type { FileSpool } from '../../src/spool/file-spool.ts'
import { HEADER_BYTES, RECORD_HEADER_BYTES } from '../../src/spool/format.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'
import { FakeDisk } from './fake-disk.ts'
import { bytesOf, createProcess, FileSpoolOn, type ReadRecord, readMessages, readRecords } from './support.ts'

type Mode = 'never' | 'interval' | 'always'

function createMachine(random = () => 0.5) {
  const disk = new FakeDisk(random)
  const alive = new Set<number>()
  return {
    disk,
    start(sync: Mode = 'never', maxBytes = 1_048_576) {
      const { fs, kill } = disk.mount()
      const process = createProcess(alive)
      const clock = new FakeClock()
      const warnings: string[] = []
      const spool = new FileSpoolOn(
        { directory: '/spool', sync, maxBytes },
        { fs, clock, processes: process },
      )
      const client = { isDisabled: true, warn: (text: string) => warnings.push(text) }
      ;(spool as unknown as { attach(client: object): void }).attach(client)
      return {
        ...{ spool, clock, warnings },
        kill(): void {
          process.end()
          kill()
          void spool.close()
        },
      }
    },
  }
}

async function append(spool: FileSpool, ...messages: string[]): Promise<boolean> {
  const records = messages.map((message) => spool.append(bytesOf(message), true))
  await settled()
  return records.every((record) => record !== undefined)
}

/** Stores `messages`, lets `change` alter the file, and returns the messages that the next process reads. */
async function readChanged(messages: string[], change: (bytes: Buffer) => Buffer, expected: string[]) {
  const machine = createMachine()
  const first = machine.start()
  await append(first.spool, ...messages)
  first.kill()
  const path = machine.disk.paths.find((one) => one.endsWith('.seg')) as string
  machine.disk.alter(path, change)
  const next = machine.start()
  // Appends one more message, so that the loop below ends even if no message is left.
  next.spool.append(bytesOf('end'), false)
  const read: string[] = []
  for await (const found of next.spool.recover()) {
    for (const { message } of found) read.push(Buffer.from(message ?? 'lost').toString())
    if (read.length > expected.length) break
  }
  return { read: read.filter((message) => message !== 'end'), machine, next }
}

describe('F90: a damaged file', () => {
  const messages = ['{"first":1}', '{"second":"Zoë ☕"}', '{"third":3}']
  const starts = messages.reduce(
    (ends, message) =>
      ends.concat((ends.at(-1) as number) + RECORD_HEADER_BYTES + Buffer.byteLength(message)),
    [HEADER_BYTES],
  )
  const [, second, third, end] = starts as [number, number, number, number]

  const lengthOf =
    (length: number) =>
    (bytes: Buffer): Buffer => {
      bytes.writeUInt32LE(length, second + 8)
      return bytes
    }

  test('cut at every byte of the last record: the others are read', async () => {
    for (let length = third; length < end; length++) {
      const { read } = await readChanged(messages, (bytes) => bytes.subarray(0, length), messages.slice(0, 2))
      expect(read, `cut at ${length}`).toEqual(messages.slice(0, 2))
    }
  })

  test('S34: every byte of a record changed: those before and after it are read', async () => {
    for (let at = second; at < third; at++) {
      const flip = (bytes: Buffer): Buffer => {
        bytes[at] = (bytes[at] as number) ^ 0xff
        return bytes
      }
      const { read } = await readChanged(messages, flip, [messages[0] as string, messages[2] as string])
      expect(read, `byte ${at}`).toEqual([messages[0], messages[2]])
    }
  })

  test.each([
    ['a length of zero', lengthOf(0)],
    ['a length of 4 GB', lengthOf(0xffffffff)],
    ['a scrambled header', (bytes: Buffer) => bytes.fill(0x55, 0, HEADER_BYTES)],
    ['zeros at the end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(5_000)])],
    ['garbage at the end', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(5_000, 0xa7)])],
  ])('%s: the rest is read, and the file is quarantined', async (name, change) => {
    const expected = name.startsWith('a length') ? [messages[0], messages[2]] : messages
    const { read, machine, next } = await readChanged(messages, change, expected as string[])
    expect(read).toEqual(expected)
    next.kill()

    const last = machine.start()
    const records = last.spool.recover()
    const { value } = await records.next()
    for (const { record } of value ?? []) last.spool.acknowledge(record)
    void records.next()
    await settled()
    await settled()

    expect(last.spool.stats.damaged).toBe(1)
    expect(machine.disk.paths.filter((path) => path.endsWith('.bad'))).toHaveLength(1)
    expect(last.warnings).toEqual([expect.stringContaining('damaged')])
  })

  test('F97: a file of a later version is left alone', async () => {
    const { createHeader } = await import('../../src/spool/format.ts')
    const change = (bytes: Buffer): Buffer => {
      createHeader(2).copy(bytes)
      return bytes
    }
    const { read, machine, next } = await readChanged(messages, change, [])
    await next.spool.close()

    expect(read).toEqual([])
    expect(machine.disk.paths.filter((path) => path.endsWith('.1/00000001.seg'))).toHaveLength(1)
  })
})

describe('a disk that is full at the start (F149)', () => {
  async function fill() {
    const machine = createMachine()
    const before = machine.start()
    await append(before.spool, 'left behind')
    before.kill()
    machine.disk.capacity = 0
    return machine
  }

  test('does not keep what was left behind from being read, and is written to when there is room', async () => {
    const machine = await fill()
    const { spool, clock, kill } = machine.start()
    expect(spool.append(bytesOf('new'), true)).toBeDefined()
    const [left] = await readRecords(spool, 1)
    expect(left?.text).toBe('left behind')
    spool.acknowledge((left as ReadRecord).record)
    await settled()
    expect(machine.disk.paths.filter((path) => path.endsWith('.1/00000001.seg'))).toEqual([])

    machine.disk.capacity = Number.POSITIVE_INFINITY
    await clock.advance(60_000)
    expect(await spool.sync()).toBe(true)
    kill()
    expect(await readMessages(machine.start().spool, 1)).toEqual(['new'])
  })

  test('does not keep it from being read even if no file can be created', async () => {
    const machine = await fill()
    machine.disk.faults.create.push(...new Array(10).fill('ENOSPC'))

    expect(await readMessages(machine.start().spool, 1)).toEqual(['left behind'])
  })

  test('an empty lock shows for as long as its process lives that its files are in use', async () => {
    const machine = await fill()
    const { spool, clock } = machine.start()
    expect(await readMessages(spool, 1)).toEqual(['left behind'])
    for (let seconds = 0; seconds < 300; seconds += 15) {
      machine.disk.nowMs += 15_000
      await clock.advance(15_000)
    }
    const other = machine.start()
    const read: string[] = []
    void readMessages(other.spool, 1).then((messages) => read.push(...messages))
    await settled()

    expect(read).toEqual([])
    other.kill()
  })

  test('a start that fails leaves nothing behind', () => {
    const machine = createMachine()
    const paths = [...machine.disk.paths]
    machine.disk.faults.write.push('EIO')

    expect(() => machine.start()).toThrow(/cannot be used: EIO/)
    expect(machine.disk.paths).toEqual(paths)
  })
})

describe('F91: a full disk', () => {
  test('lets events wait in memory with one warning, and gets them when there is room', async () => {
    const machine = createMachine()
    const { spool, clock, warnings, kill } = machine.start()
    await append(spool, 'before')
    machine.disk.capacity = machine.disk.usedBytes + 30

    for (const message of ['a', 'b', 'c']) expect(await append(spool, message.repeat(100))).toBe(true)
    expect(spool.stats.isWriting).toBe(false)
    expect(await spool.sync()).toBe(false)
    expect(spool.append(bytesOf('not held'), false)).toBeUndefined()
    await clock.advance(10_000)
    expect(warnings).toEqual([expect.stringMatching(/cannot write, .*: ENOSPC/)])

    machine.disk.capacity = Number.POSITIVE_INFINITY
    await clock.advance(60_000)
    expect(spool.stats.isWriting).toBe(true)
    expect(await spool.sync()).toBe(true)
    kill()

    const expected = ['before', 'a'.repeat(100), 'b'.repeat(100), 'c'.repeat(100)]
    expect(await readMessages(machine.start().spool, 4)).toEqual(expected)
  })

  test('lets a limited number of events wait in memory', async () => {
    const machine = createMachine()
    const { spool } = machine.start()
    machine.disk.capacity = 0
    const message = 'x'.repeat(10_000)
    let taken = 0
    while (spool.append(bytesOf(message), true) !== undefined) {
      await settled()
      expect(++taken).toBeLessThan(200)
    }
    expect(taken).toBeGreaterThan(1)
  })
})

describe('a power cut that loses all unsynced data', () => {
  test.each<[Mode, string[]]>([
    ['never', []],
    ['interval', ['a', 'b']],
    ['always', ['a', 'b', 'c']],
  ])("with sync: '%s', synced events are read", async (mode, expected) => {
    // With these random numbers, a power cut loses unsynced file names, and writes only a part of unsynced content.
    const machine = createMachine(() => 0.6)
    const { spool, clock, kill } = machine.start(mode)
    await append(spool, 'a', 'b')
    await clock.advance(500)
    await settled()
    await append(spool, 'c')
    await settled()
    kill()
    machine.disk.cutPower()
    machine.disk.nowMs += 100_000

    const next = machine.start('never').spool
    next.append(bytesOf('end'), false)
    const read = await readMessages(next, expected.length + 1)

    expect(read.filter((message) => message !== 'end')).toEqual(expected)
  })
})

test("with sync: 'interval', files are synced twice a second, and only after a write", async () => {
  const machine = createMachine()
  const { spool, clock } = machine.start('interval')
  const syncsAfter = async (ms: number): Promise<number> => {
    await clock.advance(ms)
    await settled()
    return spool.stats.syncs
  }
  await append(spool, 'a')

  expect([await syncsAfter(499), await syncsAfter(1), await syncsAfter(5_000)]).toEqual([0, 1, 1])
  await append(spool, 'b')
  expect(await syncsAfter(500)).toBe(2)
  await spool.close()
})

test('F92: after a failed sync the file is not trusted: all its events are written to another file', async () => {
  const machine = createMachine()
  const { spool, kill } = machine.start('always')
  machine.disk.faults.sync.push('EIO')
  await append(spool, 'a', 'b')
  await settled()

  expect(await spool.sync()).toBe(true)
  expect(machine.disk.paths.filter((path) => path.endsWith('.seg'))).toEqual([
    expect.stringMatching(/\.0\/00000002\.seg$/),
  ])
  kill()
  machine.disk.cutPower()
  machine.disk.nowMs += 100_000
  expect(await readMessages(machine.start().spool, 2)).toEqual(['a', 'b'])
})

test('F93: a directory that is removed is created again, with all waiting events', async () => {
  const machine = createMachine()
  const { spool, clock, kill } = machine.start('interval')
  await append(spool, 'a', 'b')
  machine.disk.removeAll('/spool')

  await append(spool, 'c')
  await clock.advance(1_000)
  await clock.advance(1_000)
  expect(await spool.sync()).toBe(true)
  kill()

  expect(await readMessages(machine.start().spool, 3)).toEqual(['a', 'b', 'c'])
})

test('F97: 10,000 small files are read, and removed when all is acknowledged', async () => {
  const machine = createMachine()
  const COUNT = 10_000
  const { fs } = machine.disk.mount()
  fs.makeDirectory('/spool/0123456789abcdef.0')
  const { createHeader, writeRecord } = await import('../../src/spool/format.ts')
  for (let number = 1; number <= COUNT; number++) {
    const bytes = Buffer.alloc(HEADER_BYTES + RECORD_HEADER_BYTES + 8)
    createHeader().copy(bytes)
    writeRecord(bytes, HEADER_BYTES, bytesOf(String(number).padStart(8, '0')))
    const file = fs.create(`/spool/0123456789abcdef.0/${String(number).padStart(8, '0')}.seg`)
    fs.write(file, bytes, 0)
    fs.close(file)
  }

  const { spool } = machine.start()
  const allocate = vi.spyOn(Buffer, 'allocUnsafeSlow')
  let read = 0
  for await (const messages of spool.recover()) {
    for (const { record } of messages) spool.acknowledge(record)
    read += messages.length
    if (read === COUNT) break
  }
  await settled()
  await spool.close()
  const allocations = allocate.mock.calls.length
  allocate.mockRestore()

  expect(machine.disk.paths).toEqual([])
  // One buffer is used for all reads: the garbage collector would be slow to free a new buffer for each, because
  // buffers are outside the heap.
  expect(allocations).toBeLessThan(10)
})

test('F100: a slow disk does not block a call, and concurrent calls share one sync', async () => {
  const machine = createMachine()
  const { spool } = machine.start('always')
  const waiting: (() => void)[] = []
  machine.disk.slow = () => new Promise((resolve) => waiting.push(resolve))

  // If `append` waited for the disk, this loop would hang.
  for (let turn = 0; turn < 50; turn++) expect(await append(spool, `message ${turn}`)).toBe(true)
  const stored = Promise.all(Array.from({ length: 20 }, () => spool.sync()))
  expect(waiting).toHaveLength(1)
  machine.disk.slow = () => Promise.resolve()
  waiting[0]?.()

  expect(new Set(await stored)).toEqual(new Set([true]))
  expect(machine.disk.syncs).toBeLessThanOrEqual(3)
})

describe('damage in a file of this process', () => {
  const texts = ['a', 'b', 'c', 'd', 'e']
  const RECORD_BYTES = RECORD_HEADER_BYTES + 1

  test.each([
    ['the first record', [0], ['(lost)', 'b', 'c', 'd', 'e']],
    ['a record in the middle', [2], ['a', 'b', '(lost)', 'd', 'e']],
    ['two adjacent records', [1, 2], ['a', '(lost)', '(lost)', 'd', 'e']],
    ['two separate records', [1, 3], ['a', '(lost)', 'c', '(lost)', 'e']],
    ['the last record', [4], ['a', 'b', 'c', 'd', '(lost)']],
    ['all records', [0, 1, 2, 3, 4], ['(lost)', '(lost)', '(lost)', '(lost)', '(lost)']],
  ])('loses only the damaged events: %s', async (_label, damaged, expected) => {
    const { disk, start } = createMachine()
    const { spool } = start()
    for (const text of texts) spool.append(bytesOf(text), false)
    await settled()
    const path = disk.paths.find((one) => one.endsWith('.seg')) as string
    disk.alter(path, (bytes) => {
      for (const index of damaged) {
        const at = HEADER_BYTES + index * RECORD_BYTES
        bytes.fill(0, at, at + RECORD_BYTES)
      }
      return bytes
    })

    const records = await readRecords(spool, texts.length)
    expect(records.map(({ text }) => text)).toEqual(expected)
    expect(records.every(({ isOwn }) => isOwn)).toBe(true)
    for (const { record } of records) spool.acknowledge(record)
    await spool.close()

    expect(disk.paths.filter((one) => one.endsWith('.seg'))).toEqual([])
  })

  test('records that have moved in the file by one byte are lost, and not confused with other records', async () => {
    const { disk, start } = createMachine()
    const { spool } = start()
    for (const text of texts) spool.append(bytesOf(text), false)
    await settled()
    const path = disk.paths.find((one) => one.endsWith('.seg')) as string
    disk.alter(path, (bytes) =>
      Buffer.concat([bytes.subarray(0, HEADER_BYTES), bytes.subarray(HEADER_BYTES + 1)]),
    )

    expect(await readMessages(spool, texts.length)).toEqual(texts.map(() => '(lost)'))
    await spool.close()
  })
})

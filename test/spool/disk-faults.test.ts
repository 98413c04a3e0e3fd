import { mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SpoolRecord } from '../../src/line/spool.ts'
import { type FileSystem, nodeFileSystem } from '../../src/spool/file-system.ts'
import type { Processes } from '../../src/spool/owner.ts'
import { segmentName } from '../../src/spool/segment.ts'
import { createAnalytics } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import {
  bytesOf,
  createProcess,
  FileSpoolOn,
  filesIn,
  readMessages,
  temporaryDirectory,
  turn,
  until,
} from './support.ts'

/** The interval at which a spool touches its lock, and checks that its files exist. */
const BEAT_MS = 15_000
const FIRST_RETRY_MS = 1_000

function failure(code: string): Error {
  return Object.assign(new Error(`${code}: injected by the test`), { code })
}

/** Returns the code of the error with which an operation on this path fails. */
type Fault = ((path: unknown) => string | undefined) | undefined
type Faults = { [Name in keyof FileSystem]?: Fault }

/** The real file system, with operations that fail when the test sets a fault. */
function createDisk(): FileSystem & { readonly faults: Faults } {
  const faults: Faults = {}
  const wrapped = Object.entries(nodeFileSystem).map(([name, run]) => [
    name,
    (...args: unknown[]) => {
      const code = faults[name as keyof FileSystem]?.(args[0])
      if (code !== undefined) throw failure(code)
      return (run as (...args: unknown[]) => unknown)(...args)
    },
  ])
  return Object.assign(Object.fromEntries(wrapped), { faults })
}

function open(
  directory: string,
  fs: FileSystem,
  clock = new FakeClock(),
  options: object = {},
  processes: Processes = createProcess(new Set()),
) {
  return new FileSpoolOn({ directory, sync: 'never', ...options }, { fs, clock, processes })
}

/** Waits for 50 turns of the event loop, which is long enough for file operations and promises. */
async function turns(): Promise<void> {
  for (let count = 0; count < 50; count++) await turn()
}

describe('a failing disk', () => {
  test('does not end the process when file information cannot be read', async () => {
    const [fs, clock] = [createDisk(), new FakeClock()]
    const spool = open(temporaryDirectory(), fs, clock)
    spool.append(bytesOf('a'), true)
    await turn()
    const rejections: unknown[] = []
    const onRejection = (reason: unknown): void => void rejections.push(reason)
    process.on('unhandledRejection', onRejection)

    fs.faults.info = () => 'EIO'
    await clock.advance(BEAT_MS)
    await turns()
    fs.faults.info = undefined
    process.off('unhandledRejection', onRejection)

    expect(rejections).toEqual([])
    await spool.close()
  })

  test.each(['never', 'interval'] as const)(
    "keeps messages that were written before a write failed, with sync: '%s'",
    async (sync) => {
      const [fs, clock] = [createDisk(), new FakeClock()]
      const directory = temporaryDirectory()
      const spool = open(directory, fs, clock, { sync })
      for (const text of ['a', 'b']) spool.append(bytesOf(text), false)
      await turn()
      fs.faults.write = () => 'EIO'
      spool.append(bytesOf('c'), true)
      await turn()
      expect(spool.stats.isWriting).toBe(false)

      fs.faults.write = undefined
      await clock.advance(FIRST_RETRY_MS)
      await until(() => spool.stats.isWriting)

      expect(await readMessages(spool, 2)).toEqual(['a', 'b'])
      await spool.close()
    },
  )

  test('removed files are written again only once, even when two operations notice the removal at the same time', async () => {
    const [fs, clock] = [createDisk(), new FakeClock()]
    const directory = temporaryDirectory()
    const spool = open(directory, fs, clock, { sync: 'interval' })
    const texts = Array.from({ length: 40 }, (_, index) => `${index}${'x'.repeat(10_000)}`)
    for (const text of texts) spool.append(bytesOf(text), false)
    await turn()
    await spool.sync()
    for (const name of filesIn(directory)) if (name.endsWith('.seg')) rmSync(join(directory, name))

    // Does not wait before the second operation: both operations notice that the file is missing.
    const synced = spool.sync()
    await clock.advance(BEAT_MS)
    await synced
    await turns()

    expect(filesIn(directory).filter((name) => name.endsWith('.seg'))).toHaveLength(1)
    expect(await readMessages(spool, 40)).toEqual(texts)
    await spool.close()
  })

  test('one file whose information cannot be read does not end the reading', async () => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    for (const text of ['a', 'b']) {
      const process = createProcess(alive)
      const spool = open(directory, nodeFileSystem, new FakeClock(), {}, process)
      spool.append(bytesOf(text), true)
      await turn()
      process.end()
    }
    const fs = createDisk()
    let asked = 0
    fs.faults.info = (path) => (String(path).endsWith('1.seg') && ++asked === 3 ? 'EIO' : undefined)
    const spool = open(directory, fs, new FakeClock(), {}, createProcess(alive))

    expect(await readMessages(spool, 1)).toHaveLength(1)
    expect(asked).toBeGreaterThanOrEqual(3)
    await spool.close()
  })

  test('150,000 files that were left behind do not end the reading (F149)', async () => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    const before = createProcess(alive)
    const spool = open(directory, nodeFileSystem, new FakeClock(), {}, before)
    spool.append(bytesOf('a'), true)
    await turn()
    before.end()
    const names = Array.from({ length: 150_000 }, (_, index) => segmentName(index + 1))
    const fs: FileSystem = {
      ...nodeFileSystem,
      list: (path) => (path === directory ? nodeFileSystem.list(path) : names),
      // All but the last one are gone when they are read.
      info: (path) => {
        const isListed = path.endsWith('.seg') && !path.endsWith('/00000001.seg')
        return isListed ? { kind: 'file', size: 1, modifiedMs: 0 } : nodeFileSystem.info(path)
      },
      open: (path, mode) => {
        if (path.endsWith('.seg') && !path.endsWith('/00000001.seg')) throw failure('ENOENT')
        return nodeFileSystem.open(path, mode)
      },
    }
    const next = open(directory, fs, new FakeClock(), {}, createProcess(alive))

    expect(await readMessages(next, 1)).toEqual(['a'])
    await next.close()
  })

  test('one folder without read permission does not hide the others', async () => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    for (const text of ['a', 'b', 'c']) {
      const process = createProcess(alive)
      const spool = open(directory, nodeFileSystem, new FakeClock(), {}, process)
      spool.append(bytesOf(text), true)
      await turn()
      process.end()
    }
    const fs = createDisk()
    fs.faults.list = (path) => (String(path).endsWith('.2') ? 'EACCES' : undefined)
    const spool = open(directory, fs, new FakeClock(), {}, createProcess(alive))

    expect(await readMessages(spool, 2)).toHaveLength(2)
    await spool.close()
  })

  test('too many open files lose no event', async () => {
    const [fs, clock] = [createDisk(), new FakeClock()]
    const spool = open(temporaryDirectory(), fs, clock)
    // The second record begins another file, so that the first file is closed.
    spool.append(bytesOf('a'.repeat(16_000_000)), false)
    await turn()
    spool.append(bytesOf('b'), false)
    await turn()
    let refused = 0
    fs.faults.open = () => (++refused === 1 ? 'EMFILE' : undefined)
    const reading = readMessages(spool, 2)
    await until(() => refused > 0)
    await turns()
    await clock.advance(BEAT_MS)

    expect((await reading).map((text) => text.slice(0, 1))).toEqual(['a', 'b'])
    await spool.close()
  })
})

/** A time in which a spool looks for files of dead processes at least once. */
const SCAN_MS = 60_000

test.each([
  ['a file of messages', 'open', '.seg'],
  ['a file of acknowledgements', 'open', '.ack'],
  ['a folder', 'list', '.1'],
] as const)(
  'files that could not be opened are read at the next scan: %s',
  async (_label, operation, end) => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    const former = createProcess(alive)
    const left = open(directory, nodeFileSystem, new FakeClock(), {}, former)
    const [record] = ['a', 'b', 'c'].map((text) => left.append(bytesOf(text), true))
    left.acknowledge(record as SpoolRecord)
    await turn()
    former.end()
    const [fs, clock] = [createDisk(), new FakeClock()]
    let refused = 0
    fs.faults[operation] = (path) => (String(path).endsWith(end) && ++refused === 1 ? 'EMFILE' : undefined)
    const spool = open(directory, fs, clock, {}, createProcess(alive))
    ;(spool as unknown as { attach(client: object): void }).attach({ isDisabled: true, warn() {} })
    const reading = readMessages(spool, 2)
    await until(() => refused > 0)
    await turns()
    await clock.advance(SCAN_MS)

    expect(await reading).toEqual(['b', 'c'])
    await spool.close()
  },
)

test('when a file of acknowledgements cannot be removed, the segments after it are still read', async () => {
  const directory = temporaryDirectory()
  const alive = new Set<number>()
  const former = createProcess(alive)
  const left = open(directory, nodeFileSystem, new FakeClock(), {}, former)
  left.append(bytesOf('a'), true)
  await turn()
  former.end()
  const [segment = ''] = filesIn(directory).filter((name) => name.endsWith('.seg'))
  // A directory in the place of the file: nobody can remove it as a file.
  mkdirSync(join(directory, dirname(segment), '00000000.ack'))
  const spool = open(directory, nodeFileSystem, new FakeClock(), {}, createProcess(alive))

  const reading = readMessages(spool, 1)
  await turns()
  expect(spool.stats.bytes).toBeGreaterThan(0)
  expect(await reading).toEqual(['a'])
  await spool.close()
})

test('closing leaves no file open, not even a full one', async () => {
  const files = new Set<number>()
  const opened = (file: number): number => {
    files.add(file)
    return file
  }
  const fs: FileSystem = {
    ...nodeFileSystem,
    create: (path) => opened(nodeFileSystem.create(path)),
    open: (path, mode) => opened(nodeFileSystem.open(path, mode)),
    close(file) {
      files.delete(file)
      nodeFileSystem.close(file)
    },
  }
  const directory = temporaryDirectory()
  const spool = open(directory, fs, new FakeClock(), { maxBytes: 1_048_576 })
  // Two records fill a file, and the third begins another file.
  const records = ['a', 'b', 'c'].map((text) => spool.append(bytesOf(text.repeat(70_000)), true))
  await turn()
  spool.acknowledge(records[0] as SpoolRecord)
  await turn()
  expect(filesIn(directory).map((name) => name.slice(-5))).toEqual(['1.ack', '1.seg', '2.seg', '.lock'])

  await spool.close()

  expect(files.size).toBe(0)
})

test('a listener that tracks an event at each warning of a full spool does not cause endless warnings', async () => {
  const spool = open(temporaryDirectory(), nodeFileSystem, new FakeClock(), { maxBytes: 1_048_576 })
  const { analytics } = createAnalytics({ spool, maxQueueBytes: 100_000_000, flushAt: 1_000 })
  let warnings = 0
  analytics.on('warning', ({ code }) => {
    if (code !== 'spool') return
    warnings++
    if (warnings < 100) track()
  })
  const track = (): void => {
    analytics.track({ userId: 'u', event: 'e', properties: { text: 'x'.repeat(25_000) } })
  }
  for (let count = 0; count < 60; count++) track()
  expect(warnings).toBeLessThan(5)
  await analytics.closeAndFlush()
})

test('events that can no longer be read fail, and no event is confused with another', async () => {
  const fs = createDisk()
  const spool = open(temporaryDirectory(), fs)
  const { analytics } = createAnalytics({ spool, maxQueueSize: 2, flushAt: 2 })
  const failed: unknown[] = []
  analytics.on('error', ({ reason, ctx }) => failed.push([reason.code, ctx?.event.messageId]))
  fs.faults.read = () => 'EIO'

  // More bytes than the spool collects before a write.
  const traits = { text: 'x'.repeat(20_000) }
  for (let count = 0; count < 15; count++) {
    analytics.identify({ userId: 'u', traits })
    analytics.track({ userId: 'u', event: 'e', properties: traits })
  }
  await analytics.flush()

  expect(analytics.stats).toMatchObject({ accepted: 30, delivered: 2, failed: 28, pending: 0 })
  expect(failed).toEqual(Array.from({ length: 28 }, () => ['spool', undefined]))
  fs.faults.read = undefined
  await analytics.closeAndFlush()
})

test('each callback gets the outcome of its own event when other events are lost', async () => {
  const lost = ['"number":5,', '"number":6,', '"number":9,']
  const fs: FileSystem = {
    ...nodeFileSystem,
    async read(file, target, position) {
      const count = await nodeFileSystem.read(file, target, position)
      const bytes = Buffer.from(target.buffer, target.byteOffset, count)
      for (const text of lost) if (bytes.includes(text)) bytes[bytes.indexOf(text)] = 0
      return count
    },
  }
  const spool = open(temporaryDirectory(), fs)
  const { analytics } = createAnalytics({ spool, maxQueueSize: 2, flushAt: 2 })
  const outcomes: unknown[] = []
  // More bytes than the spool collects before a write.
  const text = 'x'.repeat(20_000)
  for (let number = 0; number < 30; number++) {
    analytics.track({ userId: 'u', event: 'e', properties: { number, text } }, (error, ctx) => {
      const sent = ctx?.event as { properties?: { number?: number } } | undefined
      outcomes[number] = error ? 'lost' : sent?.properties?.number
    })
  }
  await analytics.flush()

  expect(analytics.stats).toMatchObject({ accepted: 30, delivered: 27, failed: 3, pending: 0 })
  const expected = Array.from({ length: 30 }, (_, number) => ([5, 6, 9].includes(number) ? 'lost' : number))
  expect(outcomes).toEqual(expected)
  await analytics.closeAndFlush()
})

describe('a runtime that denies every sync', () => {
  const denied = (): string => 'ERR_ACCESS_DENIED'

  test('does not stop writes, is reported once, and makes stored() resolve to false', async () => {
    const directory = temporaryDirectory()
    const disk = createDisk()
    Object.assign(disk.faults, { sync: denied, syncDirectory: denied })
    const alive = new Set<number>()
    const first = createProcess(alive)
    const spool = open(directory, disk, new FakeClock(), { sync: 'always' }, first)
    const { analytics } = createAnalytics({ spool, flushAt: 1_000 })
    const warnings: string[] = []
    analytics.on('warning', ({ reason }) => warnings.push(String((reason as Error).message)))

    for (let count = 0; count < 3; count++) {
      analytics.track({ userId: 'usr_Zoë', event: 'Order Completed' })
      expect(await analytics.stored()).toBe(false)
    }
    first.end()

    expect(warnings).toEqual([expect.stringMatching(/denies fsync.*sync: 'never'/)])
    expect(spool.stats).toMatchObject({ isWriting: true, syncs: 1 })
    expect(
      await readMessages(open(directory, nodeFileSystem, new FakeClock(), {}, createProcess(alive)), 3),
    ).toHaveLength(3)
  })

  test('files that somebody has removed are created again', async () => {
    const directory = temporaryDirectory()
    const disk = createDisk()
    Object.assign(disk.faults, { sync: denied, syncDirectory: denied })
    const clock = new FakeClock()
    const spool = open(directory, disk, clock, { sync: 'always' })
    spool.append(bytesOf('{"a":1}'), true)
    await spool.sync()
    rmSync(directory, { recursive: true })

    await clock.advance(BEAT_MS)
    await until(() => filesIn(directory).some((name) => name.endsWith('.seg')))

    expect(spool.stats.isWriting).toBe(true)
    await spool.close()
  })

  test("with sync: 'never', a call of sync() resolves with true", async () => {
    const disk = createDisk()
    Object.assign(disk.faults, { sync: denied, syncDirectory: denied })
    const spool = open(temporaryDirectory(), disk)
    spool.append(bytesOf('{"a":1}'), true)

    expect(await spool.sync()).toBe(true)
    await spool.close()
  })
})

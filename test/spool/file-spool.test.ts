import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileSpool } from '../../src/spool/file-spool.ts'
import { type FileSystem, nodeFileSystem } from '../../src/spool/file-system.ts'
import { createAnalytics, trackPurchases } from '../support/create-analytics.ts'
import { FakeClock } from '../support/fake-clock.ts'
import {
  bytesOf,
  createProcess,
  FileSpoolOn,
  filesIn,
  readRecords,
  temporaryDirectory,
  turn,
} from './support.ts'

function open(
  directory: string,
  processes: ReturnType<typeof createProcess>,
  options: object = {},
): FileSpool {
  return new FileSpoolOn({ directory, sync: 'never', ...options }, { processes, clock: processes.clock })
}

describe('messages of an earlier process', () => {
  test('S33: are removed from the disk when all are acknowledged, and a closed spool leaves no files', async () => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    const first = createProcess(alive)
    const spool = open(directory, first)
    for (const text of ['a', 'b']) spool.append(bytesOf(text), true)
    await turn()
    first.end()
    const next = open(directory, createProcess(alive))
    const own = next.append(bytesOf('c'), true)

    for (const { record } of await readRecords(next, 2)) next.acknowledge(record)
    if (own !== undefined) next.acknowledge(own)
    await turn()
    expect(next.stats.bytes).toBeLessThan(100)
    expect(next.stats.isWriting).toBe(true)
    await next.close()

    expect(next.stats.isWriting).toBe(false)
    expect(filesIn(directory)).toEqual([])
  })
})

describe('one process', () => {
  test('writes once in a turn, even with awaits in it', async () => {
    let writes = 0
    const { nodeFileSystem } = await import('../../src/spool/file-system.ts')
    const fs = {
      ...nodeFileSystem,
      write: (file: number, bytes: Uint8Array, position: number) => {
        writes++
        return nodeFileSystem.write(file, bytes, position)
      },
    }
    const spool = new FileSpoolOn({ directory: temporaryDirectory(), sync: 'never' }, { fs })
    spool.append(bytesOf('the file is created with the first'), true)
    await turn()
    writes = 0

    for (let number = 0; number < 100; number++) {
      spool.append(bytesOf(`message ${number}`), true)
      await Promise.resolve()
    }
    await turn()

    expect(writes).toBe(1)
    await spool.close()
  })

  test('S30: creates files that only their owner can read', async () => {
    const directory = join(temporaryDirectory(), 'a', 'b')
    const spool = open(directory, createProcess(new Set()))
    spool.append(bytesOf('a'), true)
    await turn()

    const names = filesIn(directory)
    expect(names).toHaveLength(2)
    for (const name of names) expect(lstatSync(join(directory, name)).mode & 0o777).toBe(0o600)
    const [segment] = names.filter((name) => name.endsWith('.seg'))
    expect(lstatSync(join(directory, segment as string, '..')).mode & 0o777).toBe(0o700)
    expect(lstatSync(directory).mode & 0o777).toBe(0o700)
    await spool.close()
  })

  test('S25, F95: writes at most maxBytes, and writes again when there is room', async () => {
    const spool = open(temporaryDirectory(), createProcess(new Set()), { maxBytes: 1_048_576 })
    const message = Buffer.alloc(10_000, 'x')
    const records = []
    for (;;) {
      const record = spool.append(message, true)
      if (record === undefined) break
      records.push(record)
      await turn()
    }
    expect(records.length).toBeGreaterThan(100)
    expect(spool.stats.bytes).toBeLessThanOrEqual(1_048_576)

    for (const record of records) spool.acknowledge(record)
    await turn()

    expect(spool.append(message, true)).toBeDefined()
    await spool.close()
  })
})

test('with a large maxBytes, 500 KB are written to one file', async () => {
  const directory = temporaryDirectory()
  const spool = open(directory, createProcess(new Set()), { maxBytes: 4_000_000_000 })
  for (let number = 0; number < 50; number++) {
    spool.append(Buffer.alloc(10_000, 'x'), true)
    await turn()
  }

  expect(filesIn(directory).filter((name) => name.endsWith('.seg'))).toHaveLength(1)
  await spool.close()
})

describe('F93: a directory that cannot be used', () => {
  test.each([
    ['a file', (path: string) => writeFileSync(path, '')],
    ['a link', (path: string) => symlinkSync(temporaryDirectory(), path)],
    ['S31: a link to nothing', (path: string) => symlinkSync('/nowhere/at/all', path)],
  ])('%s: the constructor throws an error that says so', (_, make) => {
    const path = join(temporaryDirectory(), 'spool')
    make(path)

    expect(() => new FileSpool({ directory: path })).toThrow(
      /spool\.directory: .* cannot be used: .*spool is not a directory/,
    )
  })

  test('one that the process may not write to', () => {
    expect(() => new FileSpool({ directory: '/proc/spool' })).toThrow(/cannot be used: E/)
  })

  const isRoot = process.getuid?.() === 0

  // docs/faults.md, row S30.
  test.each([0o777, 0o770, 0o702])('one that others may write to, with the mode %o', (mode) => {
    const directory = temporaryDirectory()
    chmodSync(directory, mode)

    expect(() => new FileSpool({ directory })).toThrow(
      /cannot be used: other users may write to it; .*chmod 700.*a new directory inside it/,
    )
    const inside = join(directory, 'spool')
    new FileSpool({ directory: inside })
    expect(lstatSync(inside).mode & 0o777).toBe(0o700)
  })

  test.skipIf(!isRoot)('of another user (the test runs only as root)', () => {
    const directory = temporaryDirectory()
    chownSync(directory, 12_345, 12_345)

    expect(() => new FileSpool({ directory })).toThrow(/cannot be used: it belongs to another user/)
  })

  test('one that is not a path, and other invalid options', () => {
    for (const [directory, got] of [
      ['', 'an empty string'],
      ['x\0', 'one with a NUL character'],
      [5, 'a number'],
      [undefined, 'undefined'],
    ] as const) {
      expect(() => new FileSpool({ directory: directory as never })).toThrow(
        `spool.directory: expected the path of a directory, got ${got}`,
      )
    }
    expect(() => new FileSpool(undefined as never)).toThrow('spool: expected an object')
    expect(() => new FileSpool({ directory: 'x', sync: 'sometimes' as never })).toThrow('spool.sync')
    expect(() => new FileSpool({ directory: 'x', maxBytes: 5 })).toThrow('spool.maxBytes')
    expect(existsSync('x')).toBe(false)
  })
})

test('an unknown option is refused before anything is created', () => {
  const directory = join(temporaryDirectory(), 'spool')

  expect(() => new FileSpool({ directory, maxbytes: 1 } as never)).toThrow(
    'spool.maxbytes: unknown option; the options are directory, maxBytes, sync',
  )
  expect(existsSync(directory)).toBe(false)
})

// docs/faults.md, rows S30 and S35. The file system of these tests reports some files as another user's (`isForeign`).
// On Windows, the real file system cannot.
describe('files of another user in the directory', () => {
  const foreign = (isForeign: (path: string) => boolean): FileSystem => ({
    ...nodeFileSystem,
    info(path) {
      const info = nodeFileSystem.info(path)
      return info && { ...info, isForeign: isForeign(path) }
    },
  })

  test.each([
    ['a folder', (path: string) => path.endsWith('.0')],
    ['a file in a folder', (path: string) => path.endsWith('.seg')],
  ])('are neither sent nor changed, and reported once: %s', async (_, isForeign) => {
    const directory = temporaryDirectory()
    const alive = new Set<number>()
    for (let count = 0; count < 2; count++) {
      const theirs = createProcess(alive)
      open(directory, theirs).append(bytesOf('{"theirs":1}'), true)
      await turn()
      theirs.end()
    }
    const before = filesIn(directory).filter((name) => name.endsWith('.seg')).length
    const own = createProcess(alive)
    const clock = new FakeClock()
    const spool = new FileSpoolOn(
      { directory, sync: 'never' },
      { processes: own, clock, fs: foreign(isForeign) },
    )
    const warnings: string[] = []
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (_: object, text: string) => warnings.push(text),
    }
    const { analytics, client } = createAnalytics({ spool, logger }, [], clock)

    await clock.advance(60_000)
    trackPurchases(analytics, 1)
    await analytics.closeAndFlush()

    expect(client.requests.flatMap(({ batch }) => batch.map(({ event }) => event))).toEqual([
      'Commande passée',
    ])
    expect(warnings).toEqual([expect.stringMatching(/belongs to another user, and is left alone/)])
    expect(filesIn(directory).filter((name) => name.endsWith('.seg'))).toHaveLength(before)
  })
})

test('files and folders in the directory that do not belong to a spool are left alone', async () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, 'photos'))
  writeFileSync(join(directory, 'photos', 'a.jpg'), 'jpeg')
  writeFileSync(join(directory, 'notes.txt'), 'mine')
  const spool = open(directory, createProcess(new Set()))

  void spool.recover().next()
  await turn()
  await spool.close()

  expect(filesIn(directory)).toEqual(['notes.txt', 'photos/a.jpg'])
  expect(readFileSync(join(directory, 'notes.txt'), 'utf8')).toBe('mine')
})

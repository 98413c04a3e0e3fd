import * as nodeFiles from 'node:fs'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { Journal, JournalRecord } from '../../src/settings/journal.ts'
import type { Files } from '../../src/spool/folder.ts'
import { FileJournal } from '../../src/spool/journal.ts'
import type { Owner } from '../../src/spool/owner.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'
import { temporaryDirectory } from './support.ts'

failOnUnhandledRejections()

type FileError = Error & { code: string }

const failure = (code: string): FileError => Object.assign(new Error(`${code}: as the test wants`), { code })

/** Processes on one machine, which share a folder and a clock. */
class Machine {
  readonly path = join(temporaryDirectory(), 'events')
  readonly clock = new FakeClock(new Date().toISOString())
  readonly warnings: string[] = []
  readonly alive = new Map<number, string>()
  found = 0
  #pid = 70_000

  /** A process with a journal. `end` ends it without a word. */
  start(files: Partial<Files> = {}, owner: Partial<Owner> = {}): FileJournal & { end(): void; pid: number } {
    const pid = owner.pid ?? this.#pid++
    const started = owner.started ?? String(pid)
    this.alive.set(pid, started)
    const timers: (() => void)[] = []
    const clock = {
      now: () => this.clock.now(),
      monotonic: () => this.clock.monotonic(),
      random: () => this.clock.random(),
      hold: () => this.clock.hold(),
      setTimer: (run: () => void, ms: number) => {
        const cancel = this.clock.setTimer(run, ms)
        timers.push(cancel)
        return cancel
      },
    }
    const journal = new FileJournal({
      path: this.path,
      client: { clock, warn: (text) => this.warnings.push(text), onFound: () => this.found++ },
      files: { ...nodeFiles, ...files },
      processes: {
        self: { pid, machine: 'shop-1', started, ...owner },
        exists: (other) => this.alive.has(other),
        startOf: (other) => this.alive.get(other),
      },
    })
    const end = (): void => {
      this.alive.delete(pid)
      for (const cancel of timers) cancel()
    }
    return Object.assign(journal, { end, pid })
  }

  get files(): string[] {
    return existsSync(this.path) ? readdirSync(this.path).sort() : []
  }

  get journals(): string[] {
    return this.files.filter((name) => name.endsWith('.jsonl'))
  }

  /** Everything that is in the files. */
  get text(): string {
    return this.journals.map((name) => readFileSync(join(this.path, name), 'utf8')).join('')
  }
}

function message(id: string, text = 'Übergrößenträger „Zoë“ 👩‍👩‍👧'): Uint8Array {
  return Buffer.from(
    JSON.stringify({ type: 'track', messageId: id, event: 'Bestellung', properties: { text } }),
  )
}

function messages(from: number, to: number, text?: string): Uint8Array[] {
  return Array.from({ length: to - from + 1 }, (_, index) => message(`m-${from + index}`, text))
}

function append(journal: Journal, all: readonly Uint8Array[]): JournalRecord[] {
  const records = journal.append(all)
  expect(records).toHaveLength(all.length)
  expect(records.every((record) => record?.isKept)).toBe(true)
  return records as JournalRecord[]
}

/** The ids of all messages that can be taken over, in order, and their records. */
function recover(journal: Journal) {
  const ids: string[] = []
  const records: JournalRecord[] = []
  const sizes: number[] = []
  for (let some = journal.recover(); some.length > 0; some = journal.recover()) {
    sizes.push(some.length)
    for (const one of some) {
      ids.push((JSON.parse(Buffer.from(one.message).toString()) as { messageId: string }).messageId)
      records.push(one.record)
    }
  }
  return { ids, records, sizes }
}

const idsOf = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `m-${from + index}`)

describe('what is appended', () => {
  test('is in a file when the call returns, byte by byte, and the next process finds it', () => {
    const machine = new Machine()
    const all = messages(1, 3)
    const first = machine.start()
    append(first, all)
    expect(machine.text).toBe(all.map((one) => `${Buffer.from(one)}\n`).join(''))

    first.end()
    const recovered = machine.start().recover()

    expect(recovered.map(({ message }) => Buffer.from(message))).toEqual(all.map((one) => Buffer.from(one)))
  })

  test('goes to a new file after 1,000 messages', () => {
    const machine = new Machine()
    const first = machine.start()
    append(first, messages(1, 999))
    append(first, messages(1_000, 2_500))

    first.end()
    const { ids, sizes } = recover(machine.start())

    expect(sizes).toEqual([1_000, 1_000, 500])
    expect(ids).toEqual(idsOf(1, 2_500))
  })

  test('goes to a new file after 1 MB, and one message may be longer', () => {
    const machine = new Machine()
    const first = machine.start()
    append(first, [...messages(1, 20, 'x'.repeat(300_000)), message('m-21', 'y'.repeat(3_000_000))])
    for (const name of machine.journals)
      expect(statSync(join(machine.path, name)).size).toBeLessThan(4_300_000)

    first.end()
    const { ids, sizes } = recover(machine.start())

    expect(sizes).toEqual([4, 4, 4, 4, 4, 1])
    expect(ids).toEqual(idsOf(1, 21))
  })

  test('makes nothing before the first message, and nothing for no messages', () => {
    const machine = new Machine()
    const journal = machine.start()

    expect(journal.append([])).toEqual([])

    expect(existsSync(machine.path)).toBe(false)
  })

  test('S30: is for the eyes of its owner alone', () => {
    const machine = new Machine()
    append(machine.start(), messages(1, 1))

    expect(statSync(machine.path).mode & 0o777).toBe(0o700)
    for (const name of machine.files) expect(statSync(join(machine.path, name)).mode & 0o777).toBe(0o600)
    expect(machine.files).toHaveLength(2)
  })
})

describe('an event that has its outcome', () => {
  test('S33: is not sent again once all of its file have one', () => {
    const machine = new Machine()
    const first = machine.start()
    const records = append(first, messages(1, 1_500))
    for (const record of records.slice(0, 1_000)) first.settled(record)
    expect(machine.journals).toHaveLength(1)

    first.end()

    expect(recover(machine.start()).ids).toEqual(idsOf(1_001, 1_500))
  })

  test('is sent again with its file while one of the file is open', () => {
    const machine = new Machine()
    const first = machine.start()
    const records = append(first, messages(1, 3))
    first.settled(records[0] as JournalRecord)

    first.end()

    expect(recover(machine.start()).ids).toEqual(idsOf(1, 3))
  })

  test('leaves room in the file that is written to: a process that is always quick has one small file', () => {
    const machine = new Machine()
    const first = machine.start()
    for (let round = 1; round <= 3_000; round++) {
      for (const record of append(first, [message(`m-${round}`)])) first.settled(record)
    }
    expect(machine.journals).toHaveLength(1)
    expect(machine.text).toBe('')
    append(first, messages(3_001, 3_002))

    first.end()

    expect(recover(machine.start()).ids).toEqual(idsOf(3_001, 3_002))
  })
})

describe('sync', () => {
  test('happens a second after an append, once, and covers new files and the folder', async () => {
    const machine = new Machine()
    const fsync = vi.fn(nodeFiles.fsync)
    const journal = machine.start({ fsync } as unknown as Partial<Files>)
    for (let round = 0; round < 3; round++) append(journal, messages(1, 1_000))
    await machine.clock.advance(999)
    expect(fsync).not.toHaveBeenCalled()

    await machine.clock.advance(1)
    await vi.waitFor(() => expect(fsync).toHaveBeenCalledTimes(4))

    expect(await journal.sync()).toBe(true)
    expect(fsync).toHaveBeenCalledTimes(4)
    await journal.close()
    expect(fsync).toHaveBeenCalledTimes(4)
  })

  test('resolves to true when all that was appended before is on the disk', async () => {
    const synced: number[] = []
    const pending: (() => void)[] = []
    const machine = new Machine()
    const journal = machine.start({
      fsync: ((file: number, done: (error: Error | null) => void) => {
        const { size } = nodeFiles.fstatSync(file)
        pending.push(() => {
          synced.push(size)
          done(null)
        })
      }) as Files['fsync'],
    })
    append(journal, messages(1, 1))
    const { size } = statSync(join(machine.path, machine.journals[0] as string))
    const first = journal.sync()
    await vi.waitFor(() => expect(pending).not.toEqual([]))
    append(journal, messages(2, 2))
    const others = [journal.sync(), journal.sync()]

    for (const end of pending.splice(0)) end()
    expect(await first).toBe(true)
    await vi.waitFor(() => expect(pending.length).toBeGreaterThan(0))
    expect(synced).toContain(size)
    for (const end of pending.splice(0)) end()

    expect(await Promise.all(others)).toEqual([true, true])
    expect(synced).toContain(2 * size)
  })

  test('F92: resolves to false after a failure, until the events of that file have their outcome', async () => {
    const machine = new Machine()
    let isBroken = true
    const fsync = (file: number, done: (error: Error | null) => void): void =>
      isBroken ? done(failure('EIO')) : nodeFiles.fsync(file, done)
    const journal = machine.start({ fsync } as unknown as Partial<Files>)
    const records = append(journal, messages(1, 2))
    expect(await journal.sync()).toBe(false)
    isBroken = false

    // The file is not trusted any more, and what comes goes to another one.
    expect(await journal.sync()).toBe(false)
    append(journal, messages(3, 3))
    expect(machine.journals).toHaveLength(2)
    for (const record of records) journal.settled(record)

    expect(await journal.sync()).toBe(true)
    expect(machine.warnings).toEqual([expect.stringContaining('EIO')])
  })

  test('that is denied is told of once, and costs no more', async () => {
    const machine = new Machine()
    const fsync = (_file: number, done: (error: Error) => void): void => done(failure('ERR_ACCESS_DENIED'))
    const journal = machine.start({ fsync } as unknown as Partial<Files>)
    for (let round = 0; round < 3; round++) {
      append(journal, messages(1, 1))
      expect(await journal.sync()).toBe(true)
    }

    expect(machine.warnings).toEqual([expect.stringContaining('denies fsync')])
  })

  test('does not close a file under a sync', async () => {
    const machine = new Machine()
    const pending: { file: number; end(): void }[] = []
    const closed: number[] = []
    const journal = machine.start({
      fsync: ((file: number, done: (error: Error | null) => void) => {
        pending.push({ file, end: () => done(null) })
      }) as Files['fsync'],
      closeSync: (file) => {
        closed.push(file)
        nodeFiles.closeSync(file)
      },
    })
    const records = append(journal, messages(1, 1_001))
    closed.length = 0
    const syncing = journal.sync()
    await vi.waitFor(() => expect(pending).not.toEqual([]))
    const file = pending[0]?.file
    for (const record of records.slice(0, 1_000)) journal.settled(record)
    expect(machine.journals).toHaveLength(1)
    expect(closed).not.toContain(file)

    for (const { end } of pending.splice(0)) end()
    await syncing

    expect(closed).toContain(file)
  })
})

describe('F91: a disk that fails', () => {
  test.each(['ENOSPC', 'EDQUOT', 'EIO'])('costs one warning; %s ends, and events are kept again', (code) => {
    const machine = new Machine()
    let isBroken = false
    const journal = machine.start({
      writeSync: ((...args: Parameters<Files['writeSync']>) => {
        if (isBroken) throw failure(code)
        return nodeFiles.writeSync(...args)
      }) as Files['writeSync'],
    })
    append(journal, messages(1, 1))
    isBroken = true
    for (let round = 0; round < 5; round++) {
      expect(journal.append(messages(2, 3))).toEqual([undefined, undefined])
      machine.clock.stall(1_000)
    }
    expect(machine.warnings).toEqual([expect.stringContaining(code)])
    isBroken = false
    append(journal, messages(4, 5))

    journal.end()

    expect(recover(machine.start()).ids).toEqual(['m-1', 'm-4', 'm-5'])
    expect(machine.warnings).toHaveLength(1)
  })

  test('in the middle of a message leaves no part of it', () => {
    const machine = new Machine()
    let room = Number.POSITIVE_INFINITY
    const journal = machine.start({
      writeSync: ((file: number, bytes: Uint8Array, from: number, count: number, position: number) => {
        if (room === 0) throw failure('ENOSPC')
        const written = nodeFiles.writeSync(file, bytes, from, Math.min(count, room), position)
        room -= written
        return written
      }) as Files['writeSync'],
    })
    append(journal, messages(1, 2))
    room = 50
    expect(journal.append(messages(3, 3))).toEqual([undefined])

    expect(machine.text.endsWith('}\n')).toBe(true)
    journal.end()
    expect(recover(machine.start()).ids).toEqual(['m-1', 'm-2'])
    expect(machine.warnings).toHaveLength(1)
  })

  test('after a part of the messages keeps this part', () => {
    const machine = new Machine()
    let files = 0
    const journal = machine.start({
      openSync: ((path: string, ...rest: [number, number]) => {
        if (path.endsWith('.jsonl') && ++files > 2) throw failure('ENOSPC')
        return nodeFiles.openSync(path, ...rest)
      }) as Files['openSync'],
    })

    const records = journal.append(messages(1, 2_500))

    expect(records.filter((record) => record?.isKept === true)).toHaveLength(2_000)
    expect(records.slice(2_000)).toEqual(new Array(500).fill(undefined))
    journal.end()
    expect(recover(machine.start()).ids).toEqual(idsOf(1, 2_000))
  })

  test('on which not even a lock can be written is read, and its files are taken over', () => {
    const machine = new Machine()
    const first = machine.start()
    append(first, messages(1, 2))
    first.end()
    const full = (): never => {
      throw failure('ENOSPC')
    }
    const second = machine.start({ openSync: full, writeSync: full } as unknown as Partial<Files>)

    const { ids, records } = recover(second)
    for (const record of records) second.settled(record)

    expect(ids).toEqual(['m-1', 'm-2'])
    expect(machine.journals).toEqual([])
  })
})

describe('F93: files that somebody removes', () => {
  test('the folder: one warning, nothing is said to be kept, and the next events are', async () => {
    const machine = new Machine()
    const journal = machine.start()
    const records = append(journal, messages(1, 2))
    rmSync(machine.path, { recursive: true })

    expect(await journal.sync()).toBe(false)
    expect(records.map(({ isKept }) => isKept)).toEqual([false, false])
    const again = append(journal, messages(1, 3))
    expect(await journal.sync()).toBe(false)
    for (const record of records) journal.settled(record)
    expect(await journal.sync()).toBe(true)

    expect(again.every(({ isKept }) => isKept)).toBe(true)
    expect(machine.warnings).toEqual([expect.stringContaining('its files were removed')])
    journal.end()
    expect(recover(machine.start()).ids).toEqual(idsOf(1, 3))
  })

  test('the lock alone is made again, so that nobody takes over the files', async () => {
    const machine = new Machine()
    append(machine.start(), messages(1, 1))
    for (const name of machine.files.filter((one) => one.endsWith('.lock'))) rmSync(join(machine.path, name))
    await machine.clock.advance(15_000)

    expect(recover(machine.start()).ids).toEqual([])
  })

  test('a file in place of the folder', () => {
    const machine = new Machine()
    writeFileSync(machine.path, '')

    expect(machine.start().append(messages(1, 1))).toEqual([undefined])

    expect(machine.warnings).toEqual([expect.stringContaining('not a directory')])
  })

  test('S30: a folder that was opened to others is not written to any more', () => {
    const machine = new Machine()
    const journal = machine.start()
    append(journal, messages(1, 1_000))
    chmodSync(machine.path, 0o777)

    expect(journal.append(messages(1_001, 1_001))).toEqual([undefined])

    expect(machine.warnings).toEqual([expect.stringContaining('other users may write to it')])
  })
})

describe('F94: processes that share a folder', () => {
  test.each<Partial<Owner>>([{}, { pid: 4, thread: 3 }])(
    'leave the files of those that run alone, however long they were busy: %j',
    (owner) => {
      const machine = new Machine()
      append(machine.start({}, owner), messages(1, 2))
      machine.clock.stall(120_000)

      expect(recover(machine.start({}, owner)).ids).toEqual([])
    },
  )

  test('take over each file once', () => {
    const machine = new Machine()
    const dead = [1, 2, 3, 4].map((number) => {
      const journal = machine.start()
      append(journal, messages(number * 1_000 + 1, number * 1_000 + 1_000))
      append(journal, [message(`m-extra-${number}`)])
      return journal
    })
    for (const journal of dead) journal.end()
    const heirs = [machine.start(), machine.start(), machine.start()]
    const taken: string[] = []

    for (let isMore = true; isMore; ) {
      isMore = false
      for (const heir of heirs) {
        const some = heir.recover()
        isMore ||= some.length > 0
        for (const one of some) taken.push(Buffer.from(one.message).toString())
      }
    }

    expect(new Set(taken).size).toBe(4_004)
    expect(taken).toHaveLength(4_004)
  })

  test('take over what a closed client has left, while its process runs on', async () => {
    const machine = new Machine()
    const first = machine.start()
    const [record] = append(first, messages(1, 2))
    first.settled(record as JournalRecord)
    await first.close()
    const second = machine.start()

    expect(recover(second).ids).toEqual(['m-1', 'm-2'])
    second.end()
    expect(recover(machine.start()).ids).toEqual(['m-1', 'm-2'])
  })

  test('find the files of a process that dies later, within 15 s', async () => {
    const machine = new Machine()
    const [first, second] = [machine.start(), machine.start()]
    expect(recover(second).ids).toEqual([])
    append(first, messages(1, 2))
    first.end()
    await machine.clock.advance(14_999)
    expect(machine.found).toBe(0)
    await machine.clock.advance(1)

    expect(machine.found).toBe(1)
    expect(recover(second).ids).toEqual(['m-1', 'm-2'])
  })

  test('know a process id that was used again by the start of its process', () => {
    const machine = new Machine()
    const first = machine.start()
    append(first, messages(1, 1))
    first.end()
    machine.alive.set(first.pid, 'later')

    expect(recover(machine.start()).ids).toEqual(['m-1'])
  })

  test.each<[string, Partial<Owner>]>([
    ['a worker thread', { pid: 4, thread: 3 }],
    ['a container', { pid: 4, machine: 'shop-2' }],
  ])('take over the files of %s that has been silent for 90 s', async (_, owner) => {
    const machine = new Machine()
    const lost = machine.start({}, owner)
    append(lost, messages(1, 1))
    await machine.clock.advance(300_000)
    expect(recover(machine.start()).ids).toEqual([])
    lost.end()
    machine.alive.set(4, '4')

    await machine.clock.advance(89_000)
    expect(recover(machine.start()).ids).toEqual([])
    await machine.clock.advance(1_000)

    expect(recover(machine.start()).ids).toEqual(['m-1'])
  })

  test('a process that was frozen for so long goes on in a new file', async () => {
    const machine = new Machine()
    const frozen = machine.start({}, { pid: 4, machine: 'shop-2' })
    const [record] = append(frozen, messages(1, 1))
    machine.clock.stall(120_000)
    const heir = machine.start()
    expect(recover(heir).ids).toEqual(['m-1'])

    append(frozen, messages(2, 2))

    expect(record?.isKept).toBe(false)
    machine.alive.delete(4)
    machine.clock.stall(120_000)
    expect(recover(machine.start()).ids).toEqual(['m-2'])
  })

  test.each([-30 * 86_400_000, -3_600_000])(
    'a clock that was set back by %d ms changes nothing',
    async (ms) => {
      const machine = new Machine()
      const [dead, alive] = [machine.start(), machine.start({}, { pid: 4, machine: 'shop-2' })]
      append(dead, messages(1, 2))
      append(alive, messages(3, 4))
      machine.clock.jump(ms)
      dead.end()
      await machine.clock.advance(30_000)
      append(alive, messages(5, 6))

      expect(recover(machine.start()).ids).toEqual(['m-1', 'm-2'])
      expect(await alive.sync()).toBe(true)
    },
  )

  test('remove the locks of those that have left nothing', () => {
    const machine = new Machine()
    const first = machine.start()
    for (const record of append(first, messages(1, 1_000))) first.settled(record)
    first.end()
    const second = machine.start()
    recover(second)
    recover(second)
    second.closeAtExit()
    recover(machine.start())

    expect(machine.files).toEqual([])
  })
})

describe('F90: lines that cannot be read', () => {
  const whole = messages(1, 5).map((one) => Buffer.from(one).toString())

  function leave(lines: string | Buffer): Machine {
    const machine = new Machine()
    mkdirSync(machine.path, { mode: 0o700 })
    writeFileSync(join(machine.path, `${'0'.repeat(16)}.1.jsonl`), lines)
    return machine
  }

  test('a file that was cut at any byte gives its whole lines', () => {
    const text = Buffer.from(`${whole.slice(0, 3).join('\n')}\n`)
    const ends = [...text.keys()].filter((index) => text[index] === 10).map((index) => index + 1)
    for (let length = 0; length <= text.length; length++) {
      const machine = leave(text.subarray(0, length))

      const { ids } = recover(machine.start())

      const count = ends.filter((end) => end <= length).length
      expect(ids).toEqual(idsOf(1, count).slice(0, count))
      expect(machine.warnings).toHaveLength(length === 0 || ends.includes(length) ? 0 : 1)
    }
  })

  test.each<[string, string | Buffer]>([
    ['half of JSON', '{"type":"track","messageId":"m'],
    ['zeros', Buffer.alloc(4_096)],
    ['random bytes', Buffer.from(Array.from({ length: 300 }, (_, index) => ((index * 7_919) % 245) + 11))],
    ['no object', '[1,2]'],
    ['no message', '{"type":"track"}'],
    ['null', 'null'],
    ['nothing', ''],
    ['bytes that are no UTF-8', Buffer.from('{"type":"track","messageId":"m-\xff"}', 'latin1')],
    [
      'a cut character',
      Buffer.concat([
        Buffer.from('{"type":"track","messageId":"'),
        Buffer.from('👩').subarray(0, 3),
        Buffer.from('"}'),
      ]),
    ],
  ])('%s in the middle costs only itself, and is told', (_, line) => {
    const parts = [`${whole[0]}\n${whole[1]}\n`, line, `\n${whole[2]}\n`].map((part) => Buffer.from(part))
    const machine = leave(Buffer.concat(parts))
    const journal = machine.start()

    const { ids, records } = recover(journal)

    expect(ids).toEqual(['m-1', 'm-2', 'm-3'])
    expect(machine.warnings).toEqual([expect.stringContaining('1 line of')])
    for (const record of records) journal.settled(record)
    expect(machine.journals).toEqual([])
  })

  test('a file without one whole line is told of and removed', () => {
    const machine = leave('garbage\nmore garbage')

    expect(recover(machine.start()).ids).toEqual([])

    expect(machine.journals).toEqual([])
    expect(machine.warnings).toEqual([expect.stringContaining('2 lines of')])
  })

  test('S31: other files in the folder are left alone', () => {
    const machine = new Machine()
    mkdirSync(machine.path, { mode: 0o700 })
    const id = 'a'.repeat(16)
    const elsewhere = join(machine.path, '..', 'elsewhere')
    writeFileSync(elsewhere, `${whole[0]}\n`)
    for (const name of ['notes.txt', `${id}.jsonl`, '00000001.seg', `${id}.1.jsonl.bak`])
      writeFileSync(join(machine.path, name), `${whole[0]}\n`)
    symlinkSync(elsewhere, join(machine.path, `${id}.1.jsonl`))
    mkdirSync(join(machine.path, `${id}.2.jsonl`))
    const before = machine.files

    expect(recover(machine.start()).ids).toEqual([])

    expect(machine.files).toEqual(before)
  })

  test('a file that cannot be read now is told of once, and read later', async () => {
    const machine = leave(`${whole[0]}\n`)
    let isShort = true
    const journal = machine.start({
      readFileSync: ((...args: Parameters<Files['readFileSync']>) => {
        if (isShort) throw failure('EMFILE')
        return nodeFiles.readFileSync(...args)
      }) as Files['readFileSync'],
    })
    expect(recover(journal).ids).toEqual([])
    await machine.clock.advance(15_000)
    expect(recover(journal).ids).toEqual([])
    isShort = false
    await machine.clock.advance(15_000)

    expect(recover(journal).ids).toEqual(['m-1'])
    expect(machine.warnings).toEqual([expect.stringContaining('EMFILE')])
  })
})

describe('closing', () => {
  test('leaves what has no outcome, and nothing else: no lock, no timer, no open file', async () => {
    const machine = new Machine()
    const opened = new Set<number>()
    const journal = machine.start({
      openSync: ((...args: Parameters<Files['openSync']>) => {
        const file = nodeFiles.openSync(...args)
        opened.add(file)
        return file
      }) as Files['openSync'],
      closeSync: (file) => {
        opened.delete(file)
        nodeFiles.closeSync(file)
      },
    })
    const records = append(journal, messages(1, 2_500))
    for (const record of records.slice(1_000)) journal.settled(record)

    await Promise.all([journal.sync(), journal.sync(), journal.close(), journal.close()])

    expect(machine.files).toEqual([expect.stringMatching(/\.1\.jsonl$/)])
    expect(machine.clock.timerCount).toBe(0)
    expect([...opened]).toEqual([])
    expect(journal.append(messages(1, 1))).toEqual([undefined])
    expect(journal.recover()).toEqual([])
    expect(recover(machine.start()).ids).toEqual(idsOf(1, 1_000))
  })

  test('at the exit is synchronous', () => {
    const machine = new Machine()
    const journal = machine.start()
    append(journal, messages(1, 1))

    journal.closeAtExit()

    expect(machine.files).toEqual([expect.stringMatching(/\.jsonl$/)])
    expect(machine.clock.timerCount).toBe(0)
    expect(recover(machine.start()).ids).toEqual(['m-1'])
  })
})

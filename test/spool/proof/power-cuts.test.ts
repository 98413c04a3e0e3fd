/**
 * Checks the promises of the spool in random sequences of calls, process deaths, power cuts and disk faults
 * (docs/faults.md, rows F89, F92, F96).
 */
import { expect, test } from 'vitest'
import type { RecoveredMessage, SpoolRecord } from '../../../src/line/spool.ts'
import type { FileSpool } from '../../../src/spool/file-spool.ts'
import { SILENCE_MS } from '../../../src/spool/owner.ts'
import { FakeClock, settled } from '../../support/fake-clock.ts'
import { FakeDisk } from '../fake-disk.ts'
import { bytesOf, createProcess, FileSpoolOn } from '../support.ts'

const SEQUENCES = process.env['TEST_FULL'] === '1' ? 10_000 : 300
const FIRST_SEED = Number(process.env['SPOOL_SEED'] ?? 1)
const MODES = ['never', 'interval', 'always'] as const

/** The worst event after which a message must still be readable: none, the death of the process, or a power cut. */
type Safety = 'nothing' | 'death' | 'power cut'

/** A random sequence of operations on one directory, by processes that use it one after the other. */
class Sequence {
  readonly #random: () => number
  readonly #disk: FakeDisk
  readonly #mode: (typeof MODES)[number]
  readonly #alive = new Set<number>()
  /** Messages that were not acknowledged, and the worst event that each must survive. */
  readonly #open = new Map<string, Safety>()
  /** Acknowledged messages, and whether the acknowledgement is in a file. */
  readonly #acknowledged = new Map<string, boolean>()
  #records = new Map<string, SpoolRecord>()
  #spool!: FileSpool
  #clock!: FakeClock
  #process!: { end(): void }
  #unmount!: () => void
  #messages!: AsyncIterator<readonly RecoveredMessage[]>
  #next: Promise<void> | undefined
  #error: unknown
  /**
   * Messages that were acknowledged at least once. They need not be read again, even if an earlier power cut has restored them.
   */
  readonly #done = new Set<string>()
  readonly #doubtful = new Set<string>()
  #hasFaults = false
  /**
   * After the first fault, a file of the spool may exist twice, since the spool writes its messages to a new file. So
   * messages may be read twice.
   */
  #hadFaults = false
  #count = 0
  /** All messages that the current process has read. */
  readonly #seen = new Set<string>()
  /** Messages that the process has released from memory, and has not read from the file yet. */
  readonly #waiting = new Set<string>()

  constructor(seed: number) {
    const dice = new FakeClock(undefined, seed)
    this.#random = () => dice.random()
    this.#disk = new FakeDisk(this.#random)
    this.#mode = MODES[seed % MODES.length] as (typeof MODES)[number]
    this.#start()
  }

  async run(): Promise<void> {
    const actions = Math.floor(this.#random() * 64)
    for (let action = 0; action < actions; action++) await this.#act()
    await this.#end(this.#random() < 0.5)
  }

  async #act(): Promise<void> {
    const chance = this.#random()
    if (chance < 0.35) this.#append()
    else if (chance < 0.5) await this.#turn()
    else if (chance < 0.62) await this.#sync()
    else if (chance < 0.78) this.#acknowledge()
    else if (chance < 0.84) await this.#advance(500)
    else if (chance < 0.88) this.#fault()
    else if (chance < 0.94) await this.#end(false)
    else await this.#end(true)
  }

  #start(): void {
    const { fs, kill } = this.#disk.mount()
    const process = createProcess(this.#alive)
    this.#clock = new FakeClock()
    this.#spool = new FileSpoolOn(
      { directory: '/spool', sync: this.#mode, maxBytes: 1_048_576 },
      { fs, clock: this.#clock, processes: process },
    )
    ;(this.#spool as unknown as { attach(client: object): void }).attach({ isDisabled: true, warn() {} })
    this.#process = process
    this.#unmount = kill
    this.#records = new Map()
    this.#seen.clear()
    this.#waiting.clear()
    this.#messages = this.#spool.recover()[Symbol.asyncIterator]()
    this.#next = undefined
    this.#hasFaults = false
  }

  #append(): void {
    const count = 1 + Math.floor(this.#random() * 4)
    for (let index = 0; index < count; index++) {
      const length = this.#random() < 0.05 ? 70_000 : Math.floor(this.#random() * 300)
      const message = `${++this.#count}:${'x'.repeat(length)}`
      const isHeld = this.#random() < 0.7
      const record = this.#spool.append(bytesOf(message), isHeld)
      if (record === undefined) continue
      this.#open.set(message, 'nothing')
      if (isHeld) this.#records.set(message, record)
      else this.#waiting.add(message)
    }
  }

  async #turn(): Promise<void> {
    await settled()
    await this.#settleDisk()
    if (!this.#spool.stats.isWriting) return
    this.#make('death')
    for (const message of this.#acknowledged.keys()) this.#acknowledged.set(message, !this.#hadFaults)
    if (this.#mode === 'always') this.#make('power cut')
  }

  async #sync(): Promise<void> {
    const open = [...this.#open.keys()]
    if (!(await this.#spool.sync())) return
    this.#make(this.#mode === 'never' ? 'death' : 'power cut', open)
  }

  async #settleDisk(): Promise<void> {
    for (let turns = 0; turns < 4; turns++) {
      this.#next ??= this.#read().catch((error) => {
        this.#error = error
      })
      await settled()
      if (this.#error !== undefined) throw this.#error
    }
  }

  async #advance(ms: number): Promise<void> {
    await this.#turn()
    await this.#clock.advance(ms)
    await this.#settleDisk()
    await this.#clock.advance(1)
    await this.#turn()
    if (this.#mode === 'interval' && this.#spool.stats.isWriting) this.#make('power cut')
  }

  #acknowledge(): void {
    const messages = [...this.#records.keys()]
    const message = messages[Math.floor(this.#random() * messages.length)]
    const record = message === undefined ? undefined : this.#records.get(message)
    if (message === undefined || record === undefined) return
    this.#spool.acknowledge(record)
    this.#records.delete(message)
    this.#open.delete(message)
    this.#acknowledged.set(message, false)
    this.#done.add(message)
  }

  #fault(): void {
    // When the spool writes messages again to a new file, their acknowledgements are lost.
    this.#hasFaults = true
    this.#hadFaults = true
    for (const message of this.#acknowledged.keys()) this.#acknowledged.set(message, false)
    if (this.#random() < 0.6) this.#disk.faults.sync.push('EIO')
    else this.#disk.faults.write.push(this.#random() < 0.5 ? 'ENOSPC' : 'EIO')
  }

  async #read(): Promise<void> {
    const messages = this.#messages
    const { done, value } = await messages.next()
    // The process has died in the meantime.
    if (messages !== this.#messages) return
    this.#next = undefined
    if (done) return
    for (const { record, isOwn, message } of value) {
      const text = Buffer.from(message ?? 'lost').toString()
      expect(
        isOwn && !this.#waiting.delete(text)
          ? `read although the process holds it: ${text.slice(0, 20)}`
          : undefined,
      ).toBeUndefined()
      expect(
        this.#seen.has(text) && !this.#hadFaults ? `twice: ${text.slice(0, 20)}` : undefined,
      ).toBeUndefined()
      this.#seen.add(text)
      const wasAcknowledged = this.#acknowledged.get(text)
      expect(wasAcknowledged === true ? `acknowledged: ${text.slice(0, 20)}` : undefined).toBeUndefined()
      expect(
        this.#done.has(text) || this.#open.has(text) ? undefined : `never appended: ${text.slice(0, 20)}`,
      ).toBeUndefined()
      this.#records.set(text, record)
    }
  }

  /** Kills the process, with or without a power cut, and starts the next one. */
  async #end(isPowerCut: boolean): Promise<void> {
    // A sync may have failed, and the process may have died before it could write the messages again. Later syncs do
    // not make these messages safe from a power cut.
    if (this.#hasFaults) for (const message of this.#open.keys()) this.#doubtful.add(message)
    if (isPowerCut) this.#doubtful.clear()
    this.#process.end()
    this.#unmount()
    void this.#spool.close()
    if (isPowerCut) {
      this.#disk.cutPower()
      // The power cut may have emptied a lock file: its owner counts as dead when the lock was not touched for this time.
      this.#disk.nowMs += SILENCE_MS
    }
    this.#disk.faults.sync.length = 0
    this.#disk.faults.write.length = 0
    const safe = [...this.#open].filter(
      ([, from]) => from === 'power cut' || (from === 'death' && !isPowerCut),
    )
    // A power cut may restore any acknowledged message. The death of a process restores messages whose
    // acknowledgement was not written.
    if (isPowerCut) for (const message of this.#acknowledged.keys()) this.#acknowledged.set(message, false)

    this.#start()
    await this.#settleDisk()
    for (let before = -1; before < this.#seen.size; ) {
      before = this.#seen.size
      await this.#settleDisk()
    }

    const missing = safe
      .map(([message]) => message)
      .filter((message) => !this.#seen.has(message) && !this.#done.has(message))
      .map((message) => message.slice(0, 20))
    expect(missing).toEqual([])
    for (const message of [...this.#open.keys()]) {
      if (!this.#seen.has(message)) this.#open.delete(message)
      else if (isPowerCut) this.#open.set(message, 'power cut')
      else if (this.#open.get(message) === 'nothing') this.#open.set(message, 'death')
    }
    for (const message of this.#seen) {
      // The message counts as unacknowledged again.
      if (this.#acknowledged.delete(message)) this.#open.set(message, isPowerCut ? 'power cut' : 'death')
    }
  }

  #make(safety: Safety, messages: Iterable<string> = this.#open.keys()): void {
    for (const message of messages) {
      const before = this.#open.get(message)
      if (before === undefined || before === 'power cut') continue
      this.#open.set(message, this.#doubtful.has(message) ? 'death' : safety)
    }
  }
}

test(`F89, F96: safe messages are read again, once and complete, in ${SEQUENCES} random sequences`, async () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEQUENCES; seed++) {
    try {
      await new Sequence(seed).run()
    } catch (error) {
      throw new Error(`SPOOL_SEED=${seed}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      })
    }
  }
}, 1_800_000)

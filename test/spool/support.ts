import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach } from 'vitest'
import type { RecoveredMessage, Spool } from '../../src/line/spool.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { FileSpool, type SpoolHost } from '../../src/spool/file-spool.ts'
import type { FileSpoolOptions } from '../../src/spool/options.ts'
import type { Processes } from '../../src/spool/owner.ts'

/** The constructor with its second parameter, which the public types leave out. */
export const FileSpoolOn = FileSpool as unknown as new (
  options: FileSpoolOptions,
  host: Partial<SpoolHost>,
) => FileSpool

const made: string[] = []

export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'trackpost-spool-'))
  made.push(path)
  return path
}

afterEach(() => {
  for (const path of made.splice(0)) rmSync(path, { recursive: true, force: true })
})

let nextPid = 70_000

/**
 * A simulated process: the process table that its spool sees, and a clock whose timers stop when the process ends.
 * `alive` has the numbers of all running processes.
 */
export function createProcess(alive: Set<number>): Processes & { readonly clock: Clock; end(): void } {
  const pid = nextPid++
  alive.add(pid)
  const clock: Clock = {
    ...systemClock,
    setTimer: (run, ms) => systemClock.setTimer(() => alive.has(pid) && run(), ms),
  }
  return {
    clock,
    self: { pid, host: 'shop-1', started: String(pid), boot: 'b', space: 's' },
    exists: (other) => alive.has(other),
    startOf: (other) => String(other),
    end: () => void alive.delete(pid),
  }
}

export async function readMessages(spool: Spool, count: number): Promise<string[]> {
  return (await readRecords(spool, count)).map(({ text }) => text)
}

export interface ReadRecord extends Pick<RecoveredMessage, 'record' | 'isOwn'> {
  readonly text: string
}

/** Reads waiting messages until there are at least `count`. */
export async function readRecords(spool: Spool, count: number): Promise<ReadRecord[]> {
  const read: ReadRecord[] = []
  if (count === 0) return read
  for await (const messages of spool.recover()) {
    for (const { record, isOwn, message } of messages) {
      read.push({ record, isOwn, text: message === undefined ? '(lost)' : Buffer.from(message).toString() })
    }
    if (read.length >= count) return read
  }
  return read
}

export function bytesOf(text: string): Uint8Array {
  return Buffer.from(text)
}

export function filesIn(directory: string): string[] {
  return (readdirSync(directory, { recursive: true }) as string[])
    .filter((name) => statSync(join(directory, name)).isFile())
    .sort()
}

/** Waits for the end of this turn of the event loop, after which the spool has written the appended messages. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Waits in real time, since real files take real time, until `isDone()` is true. There is no time limit. */
export async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 1))
}

import { elementAt } from '../errors/guard.ts'
import type { RecoveredMessage } from '../line/spool.ts'
import { FileRecord, type Segment } from './segment.ts'
import type { FoundMessage } from './segment-reader.ts'

/**
 * Consecutive records that the client does not hold. Keeps the start of each, because the client matches records to events by
 * order: an unreadable record must keep its place.
 */
export class Run {
  readonly segment: Segment
  readonly #starts: number[]
  /** The first of them that was not read. */
  #next = 0
  /** Where to continue reading. */
  start: number
  end: number

  constructor({ segment, start, end }: FileRecord) {
    this.segment = segment
    this.#starts = [start]
    this.start = start
    this.end = end
  }

  add({ start, end }: FileRecord): void {
    this.#starts.push(start)
    this.end = end
  }

  /**
   * Advances to `end`.
   *
   * @param found The readable records up to there, in order.
   * @returns The same, with the lost records in between.
   */
  advance(found: readonly FoundMessage[], end: number): RecoveredMessage[] {
    const messages: RecoveredMessage[] = []
    for (const message of found) {
      this.#lose(messages, message.record.start)
      // In a file that was edited, a record may be where none was written: its origin is unknown.
      if (elementAt(this.#starts, this.#next) !== message.record.start) continue
      this.#next++
      messages.push(message)
    }
    this.#lose(messages, end)
    this.start = end
    return messages
  }

  /** A record that starts before `end` and was not read is lost. */
  #lose(messages: RecoveredMessage[], end: number): void {
    for (let start = this.#nextBefore(end); start !== undefined; start = this.#nextBefore(end)) {
      const to = elementAt(this.#starts, ++this.#next) ?? this.end
      messages.push({ record: new FileRecord(this.segment, start, to), isOwn: true, message: undefined })
    }
  }

  #nextBefore(end: number): number | undefined {
    const start = elementAt(this.#starts, this.#next)
    return start !== undefined && start < end ? start : undefined
  }
}

/** Adds a record to the last run, or begins another. */
export function addToRun(runs: Run[], record: FileRecord): void {
  const last = elementAt(runs, -1)
  if (last?.segment === record.segment && last.end === record.start) last.add(record)
  else runs.push(new Run(record))
}

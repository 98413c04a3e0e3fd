import type { RecoveredMessage } from '../line/spool.ts'
import { FileRecord, type Segment } from './segment.ts'
import type { FoundMessage } from './segment-reader.ts'

/**
 * A sequence of consecutive records that the client does not keep in memory. The start of each record is kept: the client
 * assigns records to events by their order, so an unreadable record must be reported at its place.
 */
export class Run {
  readonly segment: Segment
  readonly #starts: number[]
  /** Index of the first record that was not read. */
  #next = 0
  /** The offset at which reading continues. */
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
   * @param found The readable records up to the offset `end`, in order.
   * @returns These records, with the lost records in between.
   */
  advance(found: readonly FoundMessage[], end: number): RecoveredMessage[] {
    const messages: RecoveredMessage[] = []
    for (const message of found) {
      this.#lose(messages, message.record.start)
      // In a file that was edited, a record may be at an offset at which this process wrote none. It is ignored.
      if (this.#starts[this.#next] !== message.record.start) continue
      this.#next++
      messages.push(message)
    }
    this.#lose(messages, end)
    this.start = end
    return messages
  }

  /** Reports as lost the records that start before `end` and were not read. */
  #lose(messages: RecoveredMessage[], end: number): void {
    for (let start = this.#nextBefore(end); start !== undefined; start = this.#nextBefore(end)) {
      const to = this.#starts[++this.#next] ?? this.end
      messages.push({ record: new FileRecord(this.segment, start, to), isOwn: true, message: undefined })
    }
  }

  #nextBefore(end: number): number | undefined {
    const start = this.#starts[this.#next]
    return start !== undefined && start < end ? start : undefined
  }
}

export function addToRun(runs: Run[], record: FileRecord): void {
  const last = runs[runs.length - 1]
  if (last?.segment === record.segment && last.end === record.start) last.add(record)
  else runs.push(new Run(record))
}

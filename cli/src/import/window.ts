import type { Position, Problem, SourceRecord } from './record.ts'

/** Kept until this line and all lines before it are delivered or refused. */
export interface PendingLine {
  readonly record: SourceRecord
  /** For the rejects file. */
  readonly messageId: string | undefined
  outcome?: 'delivered' | 'refused' | 'undelivered'
  problem?: Problem
}

export interface WindowLimits {
  readonly lines: number
  readonly bytes: number
}

/** The lines from the first that is neither delivered nor refused to the last that was read. Limits how much is read ahead. */
export class Window {
  readonly #limits: WindowLimits
  readonly #onPass: (line: PendingLine) => void
  /** In the order of the file. The lines before the index `#first` have left the window. */
  #lines: PendingLine[] = []
  #first = 0
  #bytes = 0
  #frontier: Position
  #wake: (() => void) | undefined

  /** @param onPass Called for each line in the order of the file, once this line and all before it are delivered or refused. */
  constructor(start: Position, limits: WindowLimits, onPass: (line: PendingLine) => void) {
    this.#frontier = start
    this.#limits = limits
    this.#onPass = onPass
  }

  /** The position before which all lines have an outcome. An interrupted import continues here. */
  get frontier(): Position {
    return this.#frontier
  }

  get isFull(): boolean {
    return this.#lines.length - this.#first >= this.#limits.lines || this.#bytes >= this.#limits.bytes
  }

  add(record: SourceRecord, messageId: string | undefined): PendingLine {
    const line: PendingLine = { record, messageId }
    this.#lines.push(line)
    this.#bytes += record.bytes.length
    return line
  }

  settle(line: PendingLine, outcome: NonNullable<PendingLine['outcome']>, problem?: Problem): void {
    line.outcome = outcome
    if (problem !== undefined) line.problem = problem
    this.#advance()
  }

  /** Moves the frontier to the end of the file, so that blank lines at the end count as done. */
  passTo(end: Position): void {
    // A line with the outcome `undelivered` stays in the window.
    if (this.#lines.length === this.#first && end.offset > this.#frontier.offset) this.#frontier = end
  }

  /** Waits until there is room, or {@link Window.interrupt} is called. */
  async room(): Promise<void> {
    if (!this.isFull) return
    await new Promise<void>((resolve) => {
      this.#wake = resolve
    })
  }

  interrupt(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  #advance(): void {
    for (;;) {
      const line = this.#lines[this.#first]
      if (line?.outcome === undefined || line.outcome === 'undelivered') break
      this.#first++
      this.#bytes -= line.record.bytes.length
      this.#frontier = { offset: line.record.end, line: line.record.nextLine }
      this.#onPass(line)
    }
    // Removed in blocks, because each removal moves all later lines in memory.
    if (this.#first > 1_024) {
      this.#lines = this.#lines.slice(this.#first)
      this.#first = 0
    }
    if (!this.isFull) this.interrupt()
  }
}

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Analytics, AnalyticsSettings, DeliveryError, Status } from 'trackpost'
import { call, createClient } from '../client.ts'
import { CommandError } from '../errors.ts'
import { counted } from '../output/text.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { Input } from './input.ts'
import type { Fields } from './json.ts'
import type { Mapper } from './message.ts'
import { deriveMessageId } from './message-id.ts'
import { Notes } from './notes.ts'
import { judge } from './outcome.ts'
import { Pace } from './pace.ts'
import type { ParsedRecord, Position, Problem, SourceRecord } from './record.ts'
import { type PendingLine, Window } from './window.ts'

export interface ImporterOptions {
  readonly settings: AnalyticsSettings
  /** The name from which messageIds are derived. */
  readonly sourceName: string
  /** Lines per second; `undefined` if only the service limits the rate. */
  readonly rate: number | undefined
  readonly start: Position
  /** Called for refused lines, in the order of the file. */
  readonly onRefused: (line: PendingLine) => void
  readonly onWarning: (text: string) => void
}

/** Enough for four full requests in flight and for the next one. */
const WINDOW = { lines: 4_000, bytes: 4_194_304 }
/** After this many refused lines in a row, the cause is probably not in the lines, and the import stops. */
const MAX_REFUSED_IN_A_ROW = 500
/** For the requests in flight when the user stops an import. */
const STOP_TIMEOUT_MS = 10_000

/**
 * Reads no faster than the service accepts. When an import stops, every line before its frontier has been delivered or refused.
 */
export class Importer {
  delivered = 0
  refused = 0
  readonly reasons = new Map<string, number>()
  /** What was changed or left out. */
  readonly notes = new Notes()
  /** The first event that was delivered, or would be. */
  example: Readonly<Record<string, unknown>> | undefined
  /** Why the import ended early. */
  problem: CommandError | undefined
  isInterrupted = false

  readonly #options: ImporterOptions
  readonly #client: Analytics
  readonly #window: Window
  readonly #stop = new AbortController()
  readonly #pace: Pace | undefined
  #refusedInARow = 0
  #pausedUntilMs = 0
  /** Why nothing was sent during the last pause. */
  #paused: string | undefined
  /** Failed requests since the service last accepted one. */
  #failures = 0
  #lastDeliveredAt: number | undefined

  constructor(options: ImporterOptions) {
    this.#options = options
    this.#pace = options.rate === undefined ? undefined : new Pace(options.rate)
    this.#window = new Window(options.start, WINDOW, (line) => this.#pass(line))
    this.#client = createClient(
      {
        flushAt: 500,
        flushInterval: 250,
        // The window limits the pending lines. The queue holds at least twice as many, so it is never full.
        maxQueueSize: 2 * WINDOW.lines,
        maxQueueBytes: 32 * WINDOW.bytes,
        ...options.settings,
      },
      {
        warn: options.onWarning,
        pause: (waitMs, status) => this.#pause(waitMs, status),
        keepsTimes: true,
      },
    )
  }

  get frontier(): Position {
    return this.#window.frontier
  }

  get isComplete(): boolean {
    return this.problem === undefined && !this.isInterrupted
  }

  /** Aborted when the import ends early. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Why nothing is being sent now; `undefined` if there is no pause. */
  get pausedNow(): string | undefined {
    return performance.now() < this.#pausedUntilMs ? this.#paused : undefined
  }

  /** Stops reading. {@link Importer.run} then ends when the lines in flight have an outcome. */
  stop(problem?: CommandError): void {
    if (this.#stop.signal.aborted) return
    if (problem === undefined) this.isInterrupted = true
    else this.problem ??= problem
    this.#stop.abort()
    this.#window.interrupt()
  }

  /** Never rejects: a failure is stored in {@link Importer.problem}. */
  async run<Value extends Fields | readonly string[]>(
    input: Input,
    mapper: Mapper<Value>,
    checkpoint: Checkpoint | undefined,
  ): Promise<void> {
    // Keeps the process alive while the import waits for room in the window: the client does so only during a flush.
    const hold = setInterval(() => {}, 2 ** 30)
    try {
      for await (const records of input.records()) {
        for (const record of records as ParsedRecord<Value>[]) {
          await this.#takeTurn()
          if (this.#stop.signal.aborted) break
          this.#submit(record, mapper)
        }
        await checkpoint?.saveWhenLarge()
        if (this.#stop.signal.aborted) break
      }
    } catch (error) {
      // After a stop, reading fails because the source is closed. Any other error is a problem of the file, and the lines
      // before it are still sent.
      if (!this.#stop.signal.aborted)
        this.problem = error instanceof CommandError ? error : new CommandError((error as Error).message)
    }
    const { signal } = this.#stop
    // No time limit at the end of the file: the import gives up after `maxRetries`.
    if (!signal.aborted) await Promise.race([this.#client.flush(), once(signal, 'abort')])
    const stopTimeoutMs = this.isInterrupted ? STOP_TIMEOUT_MS : 1_000
    await this.#client.closeAndFlush({ timeout: signal.aborted ? stopTimeoutMs : 0 })
    clearInterval(hold)
    if (this.problem === undefined && !signal.aborted) this.#window.passTo(input.position())
  }

  #pause(waitMs: number, { lastError, lastDeliveredAt }: Status): void {
    const { settings, onWarning } = this.#options
    this.#pausedUntilMs = performance.now() + waitMs
    this.#paused = `waits ${Math.ceil(waitMs / 1_000)} s: ${lastError?.message ?? 'the service asks for it'}`
    // A rate limit does not count as a failure.
    if (lastError === undefined || lastError.status === 429) return
    if (this.#lastDeliveredAt !== lastDeliveredAt?.getTime()) this.#failures = 0
    this.#lastDeliveredAt = lastDeliveredAt?.getTime()
    const { maxRetries = 0 } = settings
    if (++this.#failures === 1 && maxRetries > 0)
      onWarning(`${this.#paused}; tries again, at most ${counted(maxRetries, 'time')} (--max-retries)`)
    // Counted for the service as a whole: the client counts retries per event, and the next request may have other events.
    if (this.#failures > maxRetries) this.stop(new CommandError(lastError.message))
  }

  async #takeTurn(): Promise<void> {
    const waitMs = this.#pace?.take() ?? 0
    if (waitMs > 0) await sleep(waitMs, undefined, this.#stop).catch(() => {})
    if (this.#window.isFull && !this.#stop.signal.aborted) await this.#window.room()
  }

  #submit<Value>(parsed: ParsedRecord<Value>, mapper: Mapper<Value>): void {
    const { record, problem } = parsed
    if (problem !== undefined) return this.#refuse(record, undefined, problem)
    const mapped = mapper.map(parsed, (kind, field, column) =>
      this.notes.add(kind, field, record.line, column),
    )
    if (mapped === undefined) return
    const derived = (): string => deriveMessageId(this.#options.sourceName, record)
    if ('problem' in mapped) return this.#refuse(record, derived(), mapped.problem)
    const { kind, params } = mapped
    const messageId = mapped.messageId ?? derived()
    const event = { ...params, messageId }
    const line = this.#window.add(record, messageId)
    call(this.#client, kind, event, (error) => {
      if (error === undefined) this.example ??= { type: kind, ...event }
      this.#settle(line, error, mapper)
    })
  }

  #refuse(record: SourceRecord, messageId: string | undefined, problem: Problem): void {
    this.#window.settle(this.#window.add(record, messageId), 'refused', problem)
  }

  #settle(line: PendingLine, error: DeliveryError | undefined, mapper: Mapper<never>): void {
    if (error === undefined) {
      this.#refusedInARow = 0
      return this.#window.settle(line, 'delivered')
    }
    const { outcome, problem } = judge(error, (field) => mapper.columnOf(field))
    if (outcome === 'undelivered') this.stop(new CommandError(problem.message))
    else if (error.code === 'rejected' && ++this.#refusedInARow >= MAX_REFUSED_IN_A_ROW) {
      this.stop(
        new CommandError(
          `the service has refused ${MAX_REFUSED_IN_A_ROW} lines in a row: ${problem.message}`,
        ),
      )
    }
    this.#window.settle(line, outcome, problem)
  }

  #pass(line: PendingLine): void {
    if (line.outcome === 'delivered') {
      this.delivered++
      return
    }
    this.refused++
    const reason = line.problem?.reason ?? 'invalid'
    this.reasons.set(reason, (this.reasons.get(reason) ?? 0) + 1)
    this.#options.onRefused(line)
  }
}

import type { TokenCredentials } from '../auth/credentials.ts'
import type { Delivery } from '../delivery/delivery.ts'
import { guard } from '../errors/guard.ts'
import type { Item } from '../line/item.ts'
import type { Line } from '../line/line.ts'
import type { SpoolConnection } from '../line/spool.ts'
import type { Pipeline } from '../pipeline/pipeline.ts'
import { type Clock, within } from '../runtime/clock.ts'
import { watchExit } from '../runtime/exit.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Emitter } from './emitter.ts'
import type { AnalyticsEvents } from './events.ts'
import type { Intake } from './intake.ts'
import type { FlushSummary, Ledger } from './ledger.ts'
import { type Outcomes, withTrouble } from './outcomes.ts'
import type { Warnings } from './warnings.ts'

export interface LifecycleOptions {
  readonly settings: Pick<ResolvedSettings, 'exitTimeout' | 'waitUntil'>
  readonly clock: Clock
  readonly ledger: Ledger
  readonly intake: Intake
  readonly pipeline: Pipeline
  readonly line: Line
  readonly delivery: Delivery
  readonly tokens: TokenCredentials | undefined
  /** Closes the connections of the built-in HTTP client. */
  readonly closeConnections: () => void
  readonly outcomes: Outcomes
  readonly warnings: Warnings
  readonly emitter: Emitter<AnalyticsEvents>
  readonly spool: SpoolConnection | undefined
  /** Counts the pending events of the whole client. On edge runtimes, `ledger` counts only those of one incoming request. */
  readonly countPending: () => number
}

const CLOSE_TIMEOUT_MS = 75_000
/** A hanging disk must not keep the process alive forever. */
const SPOOL_TIMEOUT_MS = 5_000

/** Sends queued events at once on flush, on close and at the end of the process. */
export class Lifecycle {
  readonly #options: LifecycleOptions
  #closing: Promise<FlushSummary> | undefined
  #isTurnHandedOver = false
  readonly #exit = { isRunning: false, losses: 0 }
  readonly #unwatchExit: () => void

  constructor(options: LifecycleOptions) {
    this.#options = options
    this.#unwatchExit = watchExit(this)
  }

  /** @param timeout In milliseconds. 0 or a value that is not a number: no limit; a negative number: no wait. */
  flush(timeout: unknown): Promise<FlushSummary> {
    return this.#drain(limitOf(timeout, undefined), () => {}, this.#running)
  }

  /**
   * Every call returns the promise of the first call, except a later call by a plugin, which would wait for itself: the first
   * promise waits for the event that the plugin is handling.
   */
  close(timeout: unknown): Promise<FlushSummary> {
    if (this.#closing === undefined) {
      let closed: (summary: FlushSummary) => void = () => {}
      // Set before the work begins, because a listener that runs during the work may close again.
      this.#closing = new Promise((resolve) => {
        closed = resolve
      })
      this.#options.intake.isClosed = true
      void this.#close(limitOf(timeout, CLOSE_TIMEOUT_MS)).then(closed)
      return this.#closing
    }
    const running = this.#running.filter(({ open }) => open > 0)
    return running.length === 0
      ? this.#closing
      : this.#drain(limitOf(timeout, CLOSE_TIMEOUT_MS), () => {}, running)
  }

  async stored(): Promise<boolean> {
    const { line, spool } = this.#options
    if (spool === undefined) return false
    await line.leftPlugins()
    return spool.secure()
  }

  flushAfterTurn(): void {
    const { waitUntil } = this.#options.settings
    if (this.#isTurnHandedOver || waitUntil === undefined) return
    this.#isTurnHandedOver = true
    const flushed = Promise.resolve().then(() => {
      this.#isTurnHandedOver = false
      return this.flush(undefined)
    })
    guard(
      () => waitUntil(flushed),
      'waitUntil',
      (reason) => this.#options.warnings.take('wait_until', reason),
    )
  }

  /** @param exempt Events not to wait for: the plugin that called flush or close is handling them. */
  #drain(
    timeoutMs: number | undefined,
    onTimeout: () => void,
    exempt: readonly Item[],
  ): Promise<FlushSummary> {
    const { ledger, intake, delivery, clock } = this.#options
    const barrier = ledger.barrier(exempt)
    if (barrier === undefined) return Promise.resolve({ delivered: 0, failed: 0, pending: 0 })
    intake.settleCutShortLater()
    const endAwait = delivery.await(barrier.seq)
    delivery.flush()
    return new Promise((resolve) => {
      const release = clock.hold()
      let cancelTimer = (): void => {}
      let isOver = false
      const end = (): void => {
        // After a timeout, the barrier still calls `end`.
        if (isOver) return
        isOver = true
        cancelTimer()
        endAwait()
        release()
        resolve(barrier.summary())
      }
      barrier.onceReached(end)
      // If the flush is already over, a timer would abandon later events.
      if (isOver) return
      if (timeoutMs === undefined) return
      cancelTimer = clock.setTimer(() => {
        onTimeout()
        end()
      }, timeoutMs)
    })
  }

  async #close(timeoutMs: number | undefined): Promise<FlushSummary> {
    const message = 'it was still waiting when closeAndFlush() timed out'
    this.#options.spool?.pause()
    const exempt = this.#running
    const abandon = (): void => this.abandon(message)
    const summary = await this.#drain(timeoutMs, abandon, exempt)
    const shutDown = (): Promise<void> => this.#shutDown(message)
    // A plugin has called close: the event that the plugin is handling finishes first, and then the client shuts down.
    if (exempt.some(({ state }) => state !== 'done')) void this.#drain(timeoutMs, abandon, []).then(shutDown)
    else await shutDown()
    return summary
  }

  async #shutDown(message: string): Promise<void> {
    const { spool, tokens, clock } = this.#options
    this.abandon(message)
    tokens?.close()
    this.#options.closeConnections()
    if (spool !== undefined) {
      const closing = within(spool.close(), SPOOL_TIMEOUT_MS, clock, 'the spool')
      const release = clock.hold()
      await closing.result.catch(() => {})
      release()
    }
    this.#unwatchExit()
  }

  /** The events that the running plugin code is handling. */
  get #running(): readonly Item[] {
    return this.#options.pipeline.subjects as readonly Item[]
  }

  /**
   * Gives every unfinished event an outcome and stops all work.
   *
   * @param isGone Whether the runtime has already stopped the work.
   */
  abandon(message: string, isGone = false): void {
    const { outcomes, intake, pipeline, delivery, tokens, spool } = this.#options
    intake.settleCutShort()
    outcomes.settleEarly()
    const trouble = delivery.trouble('retries_exhausted')
    const error = withTrouble('shutdown_timeout', message, trouble)
    intake.abandon(error)
    if (!isGone) pipeline.abandon()
    delivery.abandon(error, isGone)
    if (isGone) return
    spool?.abandon()
    tokens?.abort()
  }

  onDrained(): void {
    const { countPending, emitter } = this.#options
    if (countPending() === 0) emitter.emit('drained')
  }

  get accepted(): number {
    return this.#options.ledger.accepted
  }

  /** Called when the process has run out of work. Returns whether the process is kept alive. */
  onExit(): boolean {
    const exit = this.#exit
    if (exit.isRunning || this.#options.ledger.pending === 0) return exit.isRunning
    this.#options.spool?.pause()
    const timeoutMs = exitLimit(this.#options.settings.exitTimeout, exit.losses)
    if (timeoutMs < 1) {
      this.abandon(EXIT_MESSAGE)
      return false
    }
    exit.isRunning = true
    void this.#drain(timeoutMs, () => this.abandon(EXIT_MESSAGE), []).then(
      ({ delivered, failed, deferred = 0 }) => {
        exit.isRunning = false
        exit.losses = delivered === 0 && failed + deferred > 0 ? exit.losses + 1 : 0
      },
    )
    return true
  }

  /** Called when the process ends although events may still wait. */
  onEnd(): void {
    if (this.#options.ledger.pending > 0) this.abandon(EXIT_MESSAGE)
  }
}

const EXIT_MESSAGE = 'the process ended before delivery (exitTimeout)'

/** In milliseconds; `undefined` means no limit. If `timeout` is not a number, the limit is `missing`. */
function limitOf(timeout: unknown, missing: number | undefined): number | undefined {
  if (typeof timeout !== 'number' || Number.isNaN(timeout)) return missing
  // Not for -0, which is what is left of a time that was rounded.
  return Object.is(timeout, 0) ? undefined : Math.max(timeout, 0)
}

/**
 * After a wait in which no event was delivered, all further waits together take less than a second: code that tracks an event
 * for each lost event must not keep the process alive forever. The further waits are not 0, so that a script that goes on after
 * an outage does not lose its later events.
 */
function exitLimit(exitTimeoutMs: number, losses: number): number {
  return losses === 0 ? exitTimeoutMs : Math.min(exitTimeoutMs, 1_000) / 2 ** losses
}

import { dset } from 'dset'
import { describeCause } from '../errors/cause.ts'
import { type CancelationReason, ContextCancelation, type DeliveryError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import type { ContextEvent, ContextInput, Kind, Message } from '../message/types.ts'
import { ContextLogger, ContextStats, type LogEntry, type LogLevel, type Metric } from './notes.ts'

export type { ContextEvent, ContextInput } from '../message/types.ts'

/**
 * A callback of a call. Called once, as soon as the outcome of the event is known, but never before the call has returned. If
 * the callback throws or rejects, the error is reported and has no other effect.
 *
 * @param error Why the event was not delivered; `undefined` when it was delivered.
 * @param ctx The event, as far as the arguments of the call could be read.
 * @example
 * analytics.track({ userId: 'ada', event: 'Signed Up' }, (error, ctx) => {
 *   if (error) console.error(ctx.id, error.code)
 * })
 */
export type Callback = (error: DeliveryError | undefined, ctx: Context) => unknown

/** Why an event failed. */
export interface FailedDelivery {
  /** The error of the event; its `code` is the precise reason. */
  readonly reason: DeliveryError
}

/** Called by `ctx.report()`. Never throws. */
export type Reporter = (ctx: Context, plugin: string, reason: unknown) => void

/** A context as `JSON.stringify(ctx)` writes it. */
export interface ContextJSON {
  /** The `messageId` of the event. */
  id: string
  /** The event. */
  event: ContextEvent
  /** Number of requests that have contained the event. */
  attempts: number
  /** The notes of plugins. */
  logs: readonly LogEntry[]
  /** The measurements of plugins. */
  metrics: readonly Metric[]
}

const SYSTEM_EVENT = JSON.stringify({
  type: 'track',
  event: 'system',
  messageId: 'system',
  timestamp: 0,
  context: {},
  integrations: {},
})

const NO_LOGS: readonly LogEntry[] = []
const NO_METRICS: readonly Metric[] = []

/** An event with its notes and its outcome, as plugins, callbacks and listeners receive it. */
export class Context {
  #event: ContextEvent | undefined
  #json: string
  #attempts = 0
  #failure: DeliveryError | undefined
  #logger: ContextLogger | undefined
  #stats: ContextStats | undefined
  /** The type of an invalid value that a plugin has assigned to `event`. */
  #refused: string | undefined
  #reporter: Reporter | undefined

  /**
   * Makes a context without a client, for tests of plugins.
   *
   * @param event The event. It is not copied, and missing fields are not filled in.
   */
  constructor(event: ContextInput)
  /** @internal Makes a context from an event, or from its JSON, which is parsed when the event is first read. */
  constructor(event: ContextEvent | undefined, json?: string)
  constructor(event: ContextInput | undefined, json = '') {
    this.#event = event as ContextEvent | undefined
    this.#json = json
  }

  /** @internal Makes the context of a call whose arguments could not be read. */
  static unreadable(kind: Kind): Context {
    return new Context(
      undefined,
      `{"type":"${kind}","messageId":"","timestamp":0,"context":{},"integrations":{}}`,
    )
  }

  /** Makes a context that belongs to no event, for `load` and `unload` of plugins. */
  static system(): Context {
    return new Context(undefined, SYSTEM_EVENT)
  }

  /**
   * The event, with what the caller left out, and the timestamp as a `Date`. A plugin may change it or assign another event
   * object; any other value counts as a failure of the plugin.
   */
  get event(): ContextEvent {
    if (this.#event === undefined) {
      const message = JSON.parse(this.#json) as Message
      this.#event = { ...message, timestamp: new Date(message.timestamp) }
      this.#json = ''
    }
    return this.#event
  }

  set event(event: ContextEvent) {
    // The setter does not throw: if the plugin assigns the event in a timer, nothing would catch the error.
    if (typeof event !== 'object' || event === null || Array.isArray(event)) this.#refused = describe(event)
    else this.#event = event
  }

  /** The `messageId` of the event. */
  get id(): string {
    return this.event.messageId
  }

  /** Number of requests that have contained this event; 0 until its outcome is known. */
  get attempts(): number {
    return this.#attempts
  }

  /** The notes that plugins leave with the event; see also `log` and `logs`. */
  get logger(): ContextLogger {
    this.#logger ??= new ContextLogger()
    return this.#logger
  }

  /** The measurements that plugins leave with the event. */
  get stats(): ContextStats {
    this.#stats ??= new ContextStats()
    return this.#stats
  }

  /**
   * Sets the value at a dotted path, such as `context.ip`, and creates missing objects on it. Paths with `__proto__`, `constructor`
   * or `prototype` are ignored. Returns the event.
   */
  updateEvent(path: string, value: unknown): ContextEvent {
    const { event } = this
    dset(event, path, value)
    return event
  }

  /**
   * In a `before` plugin, drops the event, which fails with the code `plugin`.
   *
   * @param reason A string, an error or `{ reason }`: becomes part of the error message.
   * @throws ContextCancelation always.
   */
  cancel(reason?: CancelationReason | Error): never {
    if (reason instanceof ContextCancelation) throw reason
    if (reason instanceof Error) throw new ContextCancelation(reason.message, { cause: reason })
    throw new ContextCancelation(reason)
  }

  /** Adds a note to the event. */
  log(level: LogLevel, message: string, extras?: Record<string, unknown>): void {
    this.logger.log(level, message, extras)
  }

  /**
   * Reports a problem, an error or a string, to `warning` listeners, and adds it as a note of level `warn`; the event goes on.
   * Without a listener, the first report of each plugin is a process warning.
   */
  report(plugin: string, reason: unknown): void {
    const message = describeCause(reason)
    this.log('warn', message, { plugin, reason })
    this.#reporter?.(this, plugin, reason)
  }

  /** The first 1,000 notes, oldest first. */
  logs(): readonly LogEntry[] {
    return this.#logger?.logs ?? NO_LOGS
  }

  /** Whether `other` is a context of an event with the same `messageId`. */
  isSame(other: Context): boolean {
    return other.id === this.id
  }

  /** Why the event was not delivered; `undefined` when it was delivered or has no outcome yet. */
  failedDelivery(): FailedDelivery | undefined {
    return this.#failure === undefined ? undefined : { reason: this.#failure }
  }

  /** The context for `JSON.stringify(ctx)`. */
  toJSON(): ContextJSON {
    const metrics = this.#stats?.metrics ?? NO_METRICS
    return { id: this.id, event: this.event, attempts: this.#attempts, logs: this.logs(), metrics }
  }

  /** @internal */
  set reporter(reporter: Reporter) {
    this.#reporter = reporter
  }

  /** @internal Whether the context has notes or measurements of plugins. */
  get hasNotes(): boolean {
    return this.#logger !== undefined || this.#stats !== undefined
  }

  /** @internal @throws TypeError when, since the last call, a plugin has assigned an invalid value to `event`. */
  requireEvent(): void {
    if (this.#refused === undefined) return
    const refused = this.#refused
    this.#refused = undefined
    throw new TypeError(`it set ctx.event to ${refused}, which is not an event`)
  }

  /** @internal Takes over from `former`: its state, and its notes if this context has none. */
  succeed(former: Context): void {
    this.#reporter = former.#reporter
    this.#logger ??= former.#logger
    this.#stats ??= former.#stats
  }

  /** @internal Records the outcome. */
  conclude(failure: DeliveryError | undefined, attempts: number): void {
    this.#failure = failure
    this.#attempts = attempts
  }
}

import { dset } from 'dset'
import { describeCause } from '../errors/cause.ts'
import { ContextCancelation, type DeliveryError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import type { ContextEvent, ContextInput, Message } from '../message/types.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { ContextLogger, ContextStats, type LogEntry, type LogLevel, type Metric } from './notes.ts'

export type { ContextEvent, ContextInput } from '../message/types.ts'

/**
 * Called once with the outcome of its event, as soon as it is known and never before the call has returned. When a callback
 * throws or rejects, the failure is reported and has no other effect.
 *
 * @param error Why the event was not delivered; `undefined` when it was.
 * @param ctx The event; `undefined` when the call was too malformed to make one.
 */
export type Callback = (error: DeliveryError | undefined, ctx: Context | undefined) => unknown

/** Why an event failed. */
export interface FailedDelivery {
  /** Its `code` is the precise reason. */
  readonly reason: DeliveryError
}

/** Receives the report of a plugin about an event. Never throws. */
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

/** One event, on its way through plugins and delivery, with its outcome. Passed to plugins, callbacks and listeners. */
export class Context {
  #event: ContextEvent | undefined
  #json: string
  #attempts = 0
  #failure: DeliveryError | undefined
  #logger: ContextLogger | undefined
  #stats: ContextStats | undefined
  /** Describes the invalid value to which a plugin tried to set the event. */
  #refused: string | undefined
  #depth = 0
  #reporter: Reporter | undefined
  #subject: object | undefined
  #destinations: Promise<unknown> | undefined
  readonly #clock: Clock

  /**
   * Makes a context without a client, for tests of plugins.
   *
   * @param event The event. It is not copied, and missing fields are not filled in; `runPlugin` of `trackpost/testing`
   * fills them in.
   */
  constructor(event: ContextInput)
  /** @internal `event`, or the JSON from which it is made when it is first read. */
  constructor(event: ContextEvent | undefined, json?: string, clock?: Clock)
  constructor(event: ContextInput | undefined, json = '', clock: Clock = systemClock) {
    this.#event = event as ContextEvent | undefined
    this.#json = json
    this.#clock = clock
  }

  /** A context without a caller's event, for `load` and `unload` of plugins. */
  static system(): Context {
    return new Context(undefined, SYSTEM_EVENT)
  }

  /**
   * The event. Fields that the caller left out are filled in, and the timestamp is a `Date`. A plugin may change it or replace
   * it with another event object. Any other value is refused and counts as a failure of the plugin.
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
    // Not thrown here: in a timer of the plugin, nothing would catch the error.
    if (typeof event !== 'object' || event === null || Array.isArray(event)) this.#refused = describe(event)
    else this.#event = event
  }

  /** The `messageId` of the event. */
  get id(): string {
    return this.event.messageId
  }

  /** Number of requests that have contained this event so far. */
  get attempts(): number {
    return this.#attempts
  }

  /** Where plugins leave notes; `log` and `logs` are short for it. */
  get logger(): ContextLogger {
    this.#logger ??= new ContextLogger(this.#clock)
    return this.#logger
  }

  /** Where plugins leave measurements. */
  get stats(): ContextStats {
    this.#stats ??= new ContextStats(this.#clock)
    return this.#stats
  }

  /**
   * Sets the value at `path`, and creates missing objects on the way. Paths through `__proto__`, `constructor` and
   * `prototype` are ignored.
   *
   * @returns The event.
   * @example
   * ctx.updateEvent('context.ip', '0.0.0.0')
   */
  updateEvent(path: string, value: unknown): ContextEvent {
    const { event } = this
    setAtPath(event, path, value)
    return event
  }

  /**
   * Drops the event when called in a `before` plugin: it fails with `plugin`.
   *
   * @param reason An error or a text for the failure's message.
   * @throws ContextCancelation always.
   */
  cancel(reason?: unknown): never {
    if (reason instanceof ContextCancelation) throw reason
    const text = reason instanceof Error ? reason.message : typeof reason === 'string' ? reason : 'cancelled'
    throw new ContextCancelation(text, { cause: reason })
  }

  /** Adds a note to the event. */
  log(level: LogLevel, message: string, extras?: Record<string, unknown>): void {
    this.logger.log(level, message, extras)
  }

  /**
   * Reports a problem that costs no event to `warning` listeners. Without a listener, the first report of each plugin is a
   * process warning. Also adds a note of level `warn`. In a context outside of a client, it only adds the note.
   *
   * @param plugin The name of the plugin that reports.
   * @param reason The problem: an error, or a text.
   */
  report(plugin: string, reason: unknown): void {
    const message = describeCause(reason)
    this.log('warn', message, { plugin, reason })
    this.#reporter?.(this, plugin, reason)
  }

  /** The notes, oldest first; the first 1,000 of them. */
  logs(): readonly LogEntry[] {
    return this.#logger?.logs ?? NO_LOGS
  }

  /** Whether `other` is a context of the same event, by `messageId`. */
  isSame(other: Context): boolean {
    return other.id === this.id
  }

  /** Why the event was not delivered; `undefined` while it has no outcome, and when it was delivered. */
  failedDelivery(): FailedDelivery | undefined {
    return this.#failure === undefined ? undefined : { reason: this.#failure }
  }

  /** The context for `JSON.stringify(ctx)`. */
  toJSON(): ContextJSON {
    const metrics = this.#stats?.metrics ?? NO_METRICS
    return { id: this.id, event: this.event, attempts: this.#attempts, logs: this.logs(), metrics }
  }

  /** @internal How many plugins in a row have led to this event: 0 when no plugin tracked it. */
  get depth(): number {
    return this.#depth
  }

  /** @internal */
  set depth(depth: number) {
    this.#depth = depth
  }

  /** @internal The item of the event. */
  get subject(): object | undefined {
    return this.#subject
  }

  /** @internal */
  set subject(subject: object | undefined) {
    this.#subject = subject
  }

  /** @internal Settles when the destinations have handled the event; `undefined` when none is running. */
  get destinations(): Promise<unknown> | undefined {
    return this.#destinations
  }

  /** @internal */
  set destinations(destinations: Promise<unknown> | undefined) {
    this.#destinations = destinations
  }

  /** @internal */
  set reporter(reporter: Reporter) {
    this.#reporter = reporter
  }

  /** @internal Whether it has notes or measurements of plugins. */
  get hasNotes(): boolean {
    return this.#logger !== undefined || this.#stats !== undefined
  }

  /** @internal @throws TypeError when, since the last call, a plugin has set the event to something that is not one. */
  requireEvent(): void {
    if (this.#refused === undefined) return
    const refused = this.#refused
    this.#refused = undefined
    throw new TypeError(`it set ctx.event to ${refused}, which is not an event`)
  }

  /** @internal Replaces `former`: takes over its depth and client, and its notes if this context has none. */
  succeed(former: Context): void {
    this.#depth = former.#depth
    this.#reporter = former.#reporter
    this.#subject = former.#subject
    this.#logger ??= former.#logger
    this.#stats ??= former.#stats
  }

  /** @internal Records the outcome. */
  conclude(failure: DeliveryError | undefined, attempts: number): void {
    this.#failure = failure
    this.#attempts = attempts
  }
}

/** Cache of split paths: plugins use the same few paths. Bounded, because some paths contain ids. */
const keysByPath = new Map<string, string[]>()
const MAX_PATHS = 256

/**
 * Sets the value at a dotted path, and creates missing objects on the way. A path through `__proto__`,
 * `constructor` or `prototype` is ignored.
 */
function setAtPath(target: object, path: string, value: unknown): void {
  dset(target, keysOf(path), value)
}

function keysOf(path: string): string[] {
  let keys = keysByPath.get(path)
  if (keys === undefined) {
    keys = path.split('.')
    if (keysByPath.size < MAX_PATHS) keysByPath.set(path, keys)
  }
  return keys
}

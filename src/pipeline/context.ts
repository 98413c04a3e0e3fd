import { dset } from 'dset'
import { describeCause } from '../errors/cause.ts'
import { ContextCancelation, type DeliveryError } from '../errors/errors.ts'
import { describe } from '../message/describe.ts'
import type { ContextEvent, ContextInput, Message } from '../message/types.ts'
import { type Clock, systemClock } from '../runtime/clock.ts'
import { ContextLogger, ContextStats, type LogEntry, type LogLevel, type Metric } from './notes.ts'

export type { ContextEvent, ContextInput } from '../message/types.ts'

/**
 * Called once with the outcome of its event, as soon as it is known and never before the call has returned. A callback that
 * throws or rejects harms nobody: the failure is reported.
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

/** Takes what a plugin reports of an event. Never throws. */
export type Reporter = (ctx: Context, plugin: string, reason: unknown) => void

/** What `JSON.stringify(ctx)` writes. */
export interface ContextJSON {
  /** The `messageId` of the event. */
  id: string
  /** The event. */
  event: ContextEvent
  /** Requests that have carried the event. */
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

/** One event on its way through plugins and delivery, and its outcome. Plugins, callbacks and listeners are given it. */
export class Context {
  #event: ContextEvent | undefined
  #json: string
  #attempts = 0
  #failure: DeliveryError | undefined
  #logger: ContextLogger | undefined
  #stats: ContextStats | undefined
  /** Describes the value that a plugin tried to put into the place of the event. */
  #refused: string | undefined
  #depth = 0
  #reporter: Reporter | undefined
  #subject: object | undefined
  #destinations: Promise<unknown> | undefined
  readonly #clock: Clock

  /**
   * Makes a context of its own, as tests of plugins need it.
   *
   * @param event The event. It is not copied, and what it leaves out is not filled in: `runPlugin` of `trackpost/testing` gives a
   * plugin a whole one.
   */
  constructor(event: ContextInput)
  /** @internal `event`, or the JSON from which it is made when it is first read. */
  constructor(event: ContextEvent | undefined, json?: string, clock?: Clock)
  constructor(event: ContextInput | undefined, json = '', clock: Clock = systemClock) {
    this.#event = event as ContextEvent | undefined
    this.#json = json
    this.#clock = clock
  }

  /** A context without an event of a caller's, as `load` and `unload` of plugins are given it. */
  static system(): Context {
    return new Context(undefined, SYSTEM_EVENT)
  }

  /**
   * The event. What the caller left out is filled in, and the timestamp is a `Date`. A plugin may change it, or set it to
   * another event object; anything else is refused and counts as a failure of the plugin.
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
    // Not thrown: it may happen in a timer of the plugin's, where nothing would catch it.
    if (typeof event !== 'object' || event === null || Array.isArray(event)) this.#refused = describe(event)
    else this.#event = event
  }

  /** The `messageId` of the event. */
  get id(): string {
    return this.event.messageId
  }

  /** Requests that have carried this event so far. */
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
   * Sets what lies at `path`, and creates the objects on the way to it. Paths through `__proto__`, `constructor` and
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

  /** Leaves a note with the event. */
  log(level: LogLevel, message: string, extras?: Record<string, unknown>): void {
    this.logger.log(level, message, extras)
  }

  /**
   * Tells `warning` listeners of something that costs no event, as a plugin's failure does: without a listener, the first
   * report of each plugin is a process warning. Leaves a note of the level `warn` too. A context that is not on its way
   * through a client only gets the note.
   *
   * @param plugin The name of the plugin that reports.
   * @param reason What is wrong: an error, or a text.
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

  /** Whether `other` is a context of the same event: of the same `messageId`. */
  isSame(other: Context): boolean {
    return other.id === this.id
  }

  /** Why the event was not delivered; `undefined` while it is on its way, and once it was delivered. */
  failedDelivery(): FailedDelivery | undefined {
    return this.#failure === undefined ? undefined : { reason: this.#failure }
  }

  /** What `JSON.stringify(ctx)` writes. */
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

  /** @internal What the pipeline's owner knows the event by. */
  get subject(): object | undefined {
    return this.#subject
  }

  /** @internal */
  set subject(subject: object | undefined) {
    this.#subject = subject
  }

  /** @internal Settled when the destinations are done with the event; `undefined` when none is at work. */
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

  /** @internal Whether plugins have left notes or measurements with it. */
  get hasNotes(): boolean {
    return this.#logger !== undefined || this.#stats !== undefined
  }

  /** @internal @throws TypeError when a plugin has set the event to something that is not an event since the last call. */
  requireEvent(): void {
    if (this.#refused === undefined) return
    const refused = this.#refused
    this.#refused = undefined
    throw new TypeError(`it set ctx.event to ${refused}, which is not an event`)
  }

  /** @internal Goes on in the place of `former`: with its depth, its client and, where it has none itself, its notes. */
  succeed(former: Context): void {
    this.#depth = former.#depth
    this.#reporter = former.#reporter
    this.#subject = former.#subject
    this.#logger ??= former.#logger
    this.#stats ??= former.#stats
  }

  /** @internal Takes the outcome. */
  conclude(failure: DeliveryError | undefined, attempts: number): void {
    this.#failure = failure
    this.#attempts = attempts
  }
}

/** Paths that were split: plugins use few, again and again. Bounded, because some put ids into them. */
const keysByPath = new Map<string, string[]>()
const MAX_PATHS = 256

/**
 * Sets what lies at a dotted path, and creates the objects on the way to it. A path through `__proto__`,
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

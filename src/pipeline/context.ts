import { dset } from 'dset'
import type { DeliveryError } from '../errors/errors.ts'
import type { ContextEvent, Message } from '../message/types.ts'

export type { ContextEvent } from '../message/types.ts'
export { copyToContextEvent, toContextEvent, toWire } from '../message/wire.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export interface LogEntry {
  readonly level: LogLevel
  readonly message: string
  readonly time: Date
  readonly extras: Record<string, unknown> | undefined
}

/** Why an event failed, as `ctx.failedDelivery()` gives it. */
export interface FailedDelivery {
  readonly reason: DeliveryError
}

/** Thrown by {@link Context.cancel}, to leave the plugin at that point. */
export class ContextCancelation extends Error {
  override readonly name = 'ContextCancelation'
}

/** Paths that were taken apart: plugins use few, again and again. Bounded, for those that put ids into them. */
const keysByPath = new Map<string, string[]>()
const MAX_PATHS = 256

function keysOf(path: string): string[] {
  let keys = keysByPath.get(path)
  if (keys === undefined) {
    keys = path.split('.')
    if (keysByPath.size < MAX_PATHS) keysByPath.set(path, keys)
  }
  return keys
}

/** A log that nobody reads must not grow without end. */
const MAX_LOG_ENTRIES = 1_000

/** One event on its way, and what became of it. */
export class Context {
  #event: ContextEvent | undefined
  #json: string
  #attempts = 0
  #failure: DeliveryError | undefined
  #logs: LogEntry[] | undefined

  /** @internal `event`, or the JSON from which it is made when somebody asks. */
  constructor(event: ContextEvent | undefined, json = '') {
    this.#event = event
    this.#json = json
  }

  /** The message. What the caller left out is filled in. */
  get event(): ContextEvent {
    if (this.#event === undefined) {
      const message = JSON.parse(this.#json) as Message
      this.#event = { ...message, timestamp: new Date(message.timestamp) }
      this.#json = ''
    }
    return this.#event
  }

  /** The event is replaceable as a whole, as it is for the plugins of today's SDKs. */
  set event(event: ContextEvent) {
    this.#event = event
  }

  /** The `messageId` of the event. */
  get id(): string {
    return this.event.messageId
  }

  /** Requests that carried this event so far. */
  get attempts(): number {
    return this.#attempts
  }

  /**
   * Sets what lies at `path`, making the objects on the way to it: `ctx.updateEvent('context.ip', '')`.
   * Paths through `__proto__`, `constructor` and `prototype` are ignored.
   *
   * @returns The event.
   */
  updateEvent(path: string, value: unknown): ContextEvent {
    const { event } = this
    dset(event, keysOf(path), value)
    return event
  }

  /**
   * Drops the event when called in a `before` plugin: it fails with `plugin`.
   *
   * @param reason An error or a text for the failure's message.
   * @throws ContextCancelation always.
   */
  cancel(reason?: unknown): never {
    const message =
      reason instanceof Error ? reason.message : typeof reason === 'string' ? reason : 'cancelled'
    throw new ContextCancelation(message, { cause: reason })
  }

  /** Keeps a note with the event. */
  log(level: LogLevel, message: string, extras?: Record<string, unknown>): void {
    this.#logs ??= []
    if (this.#logs.length < MAX_LOG_ENTRIES) this.#logs.push({ level, message, time: new Date(), extras })
  }

  /** The notes, oldest first; the first 1,000 of them. */
  logs(): readonly LogEntry[] {
    return this.#logs ?? []
  }

  /** Why the event was not delivered; `undefined` while it is on its way and when it was. */
  failedDelivery(): FailedDelivery | undefined {
    return this.#failure === undefined ? undefined : { reason: this.#failure }
  }

  /** @internal Takes the outcome. */
  conclude(failure: DeliveryError | undefined, attempts: number): void {
    this.#failure = failure
    this.#attempts = attempts
  }

  toJSON(): { id: string; event: ContextEvent; attempts: number; logs: readonly LogEntry[] } {
    return { id: this.id, event: this.event, attempts: this.attempts, logs: this.logs() }
  }
}

import { createCredentials } from './auth/create-credentials.ts'
import type { Credentials } from './auth/credentials.ts'
import { Emitter } from './client/emitter.ts'
import { type Epoch, type FlushSummary, Ledger, type Stats } from './client/ledger.ts'
import { Delivery } from './delivery/delivery.ts'
import { type RequestInfo, type ResponseInfo, Sender } from './delivery/sender.ts'
import { type Stored, textOf } from './delivery/store.ts'
import { describeCause } from './errors/cause.ts'
import { DeliveryError, isInstance } from './errors/errors.ts'
import { guard } from './errors/guard.ts'
import { FetchHTTPClient, type HTTPClient } from './http/client.ts'
import { defaultClient } from './http/default-client.ts'
import { buildMessage, type MessageStamp } from './message/build.ts'
import { isMessageId } from './message/message-id.ts'
import { requireSize, serialize } from './message/serialize.ts'
import type {
  AliasParams,
  GroupParams,
  IdentifyParams,
  Kind,
  Message,
  PageParams,
  ScreenParams,
  TrackParams,
} from './message/types.ts'
import { byteLength } from './message/utf8.ts'
import { Context, type ContextEvent, copyToContextEvent, toContextEvent, toWire } from './pipeline/context.ts'
import { Pipeline } from './pipeline/pipeline.ts'
import type { Plugin } from './pipeline/plugin.ts'
import { type Clock, systemClock } from './runtime/clock.ts'
import { detectRuntime } from './runtime/detect.ts'
import { unwatchExit, watchExit } from './runtime/exit.ts'
import { warn } from './runtime/warn.ts'
import {
  type AnalyticsSettings,
  type ResolvedSettings,
  resolveSettings,
  unknownSettings,
} from './settings.ts'
import { VERSION } from './version.ts'

/** Called once with the outcome of its event: without an error when it was delivered. */
export type Callback = (error: DeliveryError | undefined, ctx: Context | undefined) => unknown

/** What an `error` listener is given. */
export interface ErrorEvent {
  /** `delivery_failure` for what failed on its way; for what never set out, the same as `reason.code`. */
  code: string
  /** Its `code` is the precise reason. */
  reason: DeliveryError
  ctx?: Context
}

/** The local events and what their listeners are given. @see spec.md, section 6 */
export interface AnalyticsEvents {
  error: [ErrorEvent]
  identify: [Context]
  track: [Context]
  page: [Context]
  screen: [Context]
  group: [Context]
  alias: [Context]
  http_request: [RequestInfo]
  http_response: [ResponseInfo]
  call_after_close: [unknown]
  initialize: [PublicSettings]
  register: [string[]]
  deregister: [string[]]
  drained: []
}

/** The settings in force, without secrets. */
export type PublicSettings = Omit<ResolvedSettings, 'writeKey' | 'httpClient' | 'oauthSettings' | 'waitUntil'>

export interface FlushOptions {
  /** Longest wait in milliseconds. Default: as long as it takes; 75,000 with `close`. */
  timeout?: number | undefined
  /** Take no further events, as {@link Analytics.closeAndFlush} does. Default: false. */
  close?: boolean | undefined
}

const CLOSE_TIMEOUT_MS = 75_000
const USER_AGENT = `trackpost/${VERSION}`

/** Where the runtime has no such symbol (Node.js 16), the one that compilers put in its place. */
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)

/** One accepted call until it has its outcome. */
interface Entry extends Stored {
  readonly kind: Kind
  readonly epoch: Epoch
  readonly callback: Callback | undefined
  /** Made when plugins or a failure before the queue need one; else from the stored message, when somebody asks. */
  ctx: Context | undefined
  /** It came out of the plugins as a message that can be sent: `after` plugins hear of its outcome. */
  isThrough: boolean
  isSettled: boolean
}

const DETACHABLE = [
  'identify',
  'track',
  'page',
  'screen',
  'group',
  'alias',
  'flush',
  'closeAndFlush',
  'register',
  'deregister',
  'on',
  'once',
  'off',
  'emit',
] as const

/**
 * The client: takes events, delivers them in batches, and says of each what became of it.
 *
 * Nothing here throws or rejects but the constructor, and bad calls when `strict` is set.
 */
export class Analytics extends Emitter<AnalyticsEvents> {
  readonly #settings: ResolvedSettings
  readonly #clock: Clock
  readonly #ledger = new Ledger()
  readonly #pipeline: Pipeline
  readonly #delivery: Delivery<Entry>
  readonly #credentials: Credentials
  readonly #stamp: MessageStamp
  /** Events inside asynchronous plugins. */
  readonly #held = new Set<Entry>()
  /** Outcomes that were known within the call itself: callbacks must not run before it has returned. */
  #early: { entry: Entry; error: DeliveryError | undefined }[] = []
  /** Of all events that the queue refused in this turn: there may be very many, and a stack is costly. */
  #queueFull: DeliveryError | undefined
  readonly #told = new Set<string>()
  #ready: Promise<unknown> = Promise.resolve()
  #closing: Promise<FlushSummary> | undefined
  #isHandedOver = false
  readonly #exit = { isWatched: false, isRunning: false, timeouts: 0, onExit: () => this.#onExit() }

  /**
   * @throws SettingsError when a setting is missing, misspelt or out of range; it names the setting.
   */
  constructor(settings: AnalyticsSettings)
  constructor(settings: AnalyticsSettings, clock: Clock = systemClock) {
    super()
    const resolved = resolveSettings(settings)
    this.#settings = resolved
    this.#clock = clock
    this.#stamp = { library: { name: 'trackpost', version: VERSION }, metadata: detectRuntime() }
    const { httpClient } = resolved
    const own = typeof httpClient === 'function' ? new FetchHTTPClient(httpClient) : httpClient
    const client = own ?? defaultClient()
    this.#credentials = createCredentials(resolved, client, USER_AGENT, clock)
    this.#pipeline = new Pipeline({ clock, client: this, report: (error, ctx) => this.#report(error, ctx) })
    this.#delivery = this.#createDelivery(client)
    for (const name of DETACHABLE) {
      // Not enumerable, and writable: tests of our users replace methods by their own.
      const value = (this[name] as (...args: never[]) => unknown).bind(this)
      Object.defineProperty(this, name, { value, writable: true, configurable: true })
    }
    for (const { name, nearest } of unknownSettings(settings)) {
      warn('unknown_setting', `the setting '${name}' is unknown; did you mean '${nearest}'?`)
    }
    // Later, so that whoever made the client can listen.
    queueMicrotask(() => this.emit('initialize', publicSettings(resolved)))
  }

  /** The version of this library. */
  get VERSION(): string {
    return VERSION
  }

  /** Where every event stands, at this instant. */
  get stats(): Stats {
    return this.#ledger.stats()
  }

  /** Resolves when all plugins registered so far have loaded or were left out. */
  get ready(): Promise<void> {
    return this.#ready.then(() => {})
  }

  /** Ties a user to traits. */
  identify(params: IdentifyParams, callback?: Callback): void {
    this.#submit('identify', params, callback)
  }

  /** Records an action. */
  track(params: TrackParams, callback?: Callback): void {
    this.#submit('track', params, callback)
  }

  /** Records a page view. */
  page(params: PageParams, callback?: Callback): void {
    this.#submit('page', params, callback)
  }

  /** Records a view of a mobile screen. */
  screen(params: ScreenParams, callback?: Callback): void {
    this.#submit('screen', params, callback)
  }

  /** Puts a user into a company or team. */
  group(params: GroupParams, callback?: Callback): void {
    this.#submit('group', params, callback)
  }

  /** Ties one identity to another. */
  alias(params: AliasParams, callback?: Callback): void {
    this.#submit('alias', params, callback)
  }

  /**
   * Sends what waits and resolves when everything accepted before this call has its outcome, requests in
   * flight and events inside plugins included. Calls may overlap. Never rejects.
   *
   * @returns What became of the events that it waited for. `pending` is not 0 only after `timeout`.
   */
  flush(options: FlushOptions = {}): Promise<FlushSummary> {
    return options?.close === true ? this.closeAndFlush(options) : this.#drain(options?.timeout, () => {})
  }

  /**
   * Takes no further events and flushes. At `timeout` what is open is aborted and every remaining event fails
   * with `shutdown_timeout`, before this resolves. A second call returns the first one's promise.
   */
  closeAndFlush(options: { timeout?: number | undefined } = {}): Promise<FlushSummary> {
    if (this.#closing === undefined) {
      let closed: (summary: FlushSummary) => void = () => {}
      // Set before the work begins: a listener that it calls may close, or track, as well.
      this.#closing = new Promise((resolve) => {
        closed = resolve
      })
      void this.#close(options?.timeout).then(closed)
    }
    return this.#closing
  }

  /** `await using analytics = new Analytics(...)` closes it at the end of the block. */
  async [asyncDispose](): Promise<void> {
    await this.closeAndFlush()
  }

  /**
   * Loads plugins and puts them behind those of their type. Resolves when they take part. A plugin that is
   * none, or that fails to load, is reported through `error` and left out.
   */
  async register(...plugins: Plugin[]): Promise<void> {
    const loading = Promise.all(
      plugins.map(async (plugin) => {
        try {
          await this.#pipeline.register(plugin)
          return plugin.name
        } catch (error) {
          this.#report(new DeliveryError('plugin', describeCause(error), { cause: error }), undefined)
          return undefined
        }
      }),
    )
    this.#ready = Promise.all([this.#ready, loading])
    const names = await loading
    this.emit(
      'register',
      names.filter((name) => name !== undefined),
    )
  }

  /** Takes plugins out by name. Resolves when they have unloaded. */
  async deregister(...names: string[]): Promise<void> {
    await Promise.all(names.map((name) => this.#pipeline.deregister(name)))
    this.emit('deregister', names)
  }

  toJSON(): { host: string; stats: Stats } {
    return { host: this.#settings.host, stats: this.stats }
  }

  /** What `console.log(analytics)` shows in Node.js. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { Analytics: this.toJSON() }
  }

  #createDelivery(client: HTTPClient): Delivery<Entry> {
    const { host, path, writeKey, httpRequestTimeout } = this.#settings
    const url = host + path
    const sender = new Sender({
      url,
      writeKey,
      userAgent: USER_AGENT,
      timeoutMs: httpRequestTimeout,
      client,
      credentials: this.#credentials,
      observer: {
        onRequest: (info) => this.listenerCount('http_request') > 0 && this.emit('http_request', info()),
        onResponse: (info) => this.listenerCount('http_response') > 0 && this.emit('http_response', info()),
      },
      clock: this.#clock,
    })
    return new Delivery({
      settings: this.#settings,
      url,
      sender,
      credentials: this.#credentials,
      clock: this.#clock,
      settle: (entry, error, attempts) => this.#settle(entry, error, attempts),
      displace: (entry, error) => {
        // Its message is gone when the outcome is told.
        entry.ctx ??= this.#contextOf(entry, this.listenerCount('error') > 0)
        this.#settleEarly(entry, error)
      },
    })
  }

  #submit(kind: Kind, params: unknown, callback: Callback | undefined): void {
    let message: Message
    try {
      message = buildMessage(kind, params, this.#stamp, this.#clock.now())
    } catch (error) {
      const failure = toDeliveryError(error)
      if (this.#closing !== undefined) return this.#refuseClosed(kind, params, callback, undefined)
      if (this.#settings.strict) throw failure
      return this.#settleEarly(this.#accept(kind, callback, undefined), failure)
    }
    if (this.#closing !== undefined) return this.#refuseClosed(kind, message, callback, message)
    if (this.#pipeline.concerns(kind)) this.#submitToPlugins(kind, message, callback)
    else this.#send(this.#accept(kind, callback, undefined), message)
  }

  #refuseClosed(
    kind: Kind,
    submitted: unknown,
    callback: Callback | undefined,
    message: Message | undefined,
  ): void {
    this.emit('call_after_close', submitted)
    const ctx = message === undefined ? undefined : new Context(toContextEvent(message))
    this.#settleEarly(this.#accept(kind, callback, ctx), new DeliveryError('closed', 'the client was closed'))
  }

  #accept(kind: Kind, callback: Callback | undefined, ctx: Context | undefined): Entry {
    if (!this.#exit.isWatched) {
      this.#exit.isWatched = true
      watchExit(this.#exit)
    }
    if (this.#settings.waitUntil !== undefined) this.#handOver(this.#settings.waitUntil)
    const isCallback = typeof callback === 'function'
    return {
      kind,
      epoch: this.#ledger.accept(),
      callback: isCallback ? callback : undefined,
      ctx,
      isThrough: false,
      isSettled: false,
      slab: undefined,
      start: 0,
      bytes: 0,
    }
  }

  /** Everything tracked in this turn is flushed together, when the turn is over. */
  #handOver(waitUntil: (promise: Promise<unknown>) => void): void {
    if (this.#isHandedOver) return
    this.#isHandedOver = true
    const flushed = Promise.resolve().then(() => {
      this.#isHandedOver = false
      return this.flush()
    })
    guard(() => waitUntil(flushed), 'waitUntil')
  }

  #submitToPlugins(kind: Kind, message: Message, callback: Callback | undefined): void {
    let ctx: Context
    try {
      // A copy: plugins may write to it, and never to what is the caller's.
      ctx = new Context(copyToContextEvent(message))
    } catch (error) {
      return this.#settleEarly(this.#accept(kind, callback, undefined), toDeliveryError(error))
    }
    const entry = this.#accept(kind, callback, ctx)
    if (this.#held.size > 0 && !this.#delivery.makeRoom(0, this.#held.size)) {
      return this.#settleEarly(entry, this.#refusal())
    }
    const isDone = this.#pipeline.run(kind, ctx, (error) => {
      this.#held.delete(entry)
      // Its time was over while it was inside a plugin.
      if (entry.isSettled) return
      if (error === undefined) this.#leavePlugins(entry, ctx, message)
      else this.#settleEarly(entry, error)
    })
    if (!isDone) this.#held.add(entry)
  }

  #leavePlugins(entry: Entry, ctx: Context, original: Message): void {
    const { kind } = entry
    try {
      if (ctx.event.type !== kind) ctx.event = { ...ctx.event, type: kind }
      const { messageId } = ctx.event
      if (messageId !== original.messageId && !isMessageId(messageId)) {
        throw new DeliveryError('invalid', 'messageId: a plugin replaced it by one that the service refuses')
      }
    } catch (error) {
      return this.#settleEarly(entry, toPluginError(error))
    }
    if (this.#send(entry, ctx.event, original)) this.#await(entry.epoch, this.#pipeline.distribute(kind, ctx))
  }

  /** From here on the event is its JSON. */
  #send(entry: Entry, message: Message | ContextEvent, original?: Message): boolean {
    const { disable } = this.#settings
    try {
      const json = serialize(toWire(message))
      if (disable) requireSize(byteLength(json))
      const isTaken = !disable && this.#delivery.enqueue(entry, json, this.#held.size, entry.epoch.isSealed)
      entry.isThrough = original !== undefined
      if (isTaken) return true
      entry.ctx ??= new Context(undefined, json)
    } catch (error) {
      entry.ctx ??= new Context(toContextEvent(message))
      this.#settleEarly(entry, withFormerSize(toDeliveryError(error), original))
      return false
    }
    this.#settleEarly(entry, disable ? undefined : this.#refusal())
    return disable
  }

  /** Keeps flushes waiting for plugin work that the event's outcome does not depend on. */
  #await(epoch: Epoch, work: Promise<unknown> | undefined): void {
    if (work === undefined) return
    this.#ledger.beginWork(epoch)
    void work.then(() => this.#ledger.endWork(epoch))
  }

  #refusal(): DeliveryError {
    this.#queueFull ??= new DeliveryError('queue_full', 'the queue is full')
    return this.#queueFull
  }

  /** Settles when the current turn is over. */
  #settleEarly(entry: Entry, error: DeliveryError | undefined): void {
    this.#early.push({ entry, error })
    if (this.#early.length === 1) queueMicrotask(() => this.#settleAllEarly())
  }

  #settleAllEarly(): void {
    const early = this.#early
    this.#early = []
    this.#queueFull = undefined
    for (const { entry, error } of early) this.#settle(entry, error, 0)
  }

  /** The one place where an event gets its outcome. */
  #settle(entry: Entry, error: DeliveryError | undefined, attempts: number): void {
    if (entry.isSettled) return
    entry.isSettled = true
    const { kind, epoch, callback } = entry
    const name = error === undefined ? kind : 'error'
    const isHeard = this.listenerCount(name) > 0
    const ctx = entry.ctx ?? this.#contextOf(entry, isHeard)
    ctx?.conclude(error, attempts)

    // After-plugins run after the outcome, and a flush waits for them: their epoch must not end before.
    this.#ledger.beginWork(epoch)
    this.#ledger.settle(epoch, error?.code)
    if (callback !== undefined) guard(() => callback(error, ctx), 'a callback')
    if (error === undefined) {
      if (ctx !== undefined && isHeard) this.emit(kind, ctx)
    } else if (isHeard) this.emit('error', errorEvent(error, ctx))
    else if (callback === undefined) this.#tell(error)
    if (entry.isThrough && ctx !== undefined) this.#await(epoch, this.#pipeline.conclude(kind, ctx))
    this.#ledger.endWork(epoch)
    if (this.#ledger.pending === 0) this.#onDrained()
  }

  /** Made from the stored message, if anybody is there to look at it. */
  #contextOf(entry: Entry, isHeard: boolean): Context | undefined {
    const isWanted = entry.callback !== undefined || isHeard
    return isWanted && entry.slab !== undefined ? new Context(undefined, textOf(entry)) : undefined
  }

  #onDrained(): void {
    this.#exit.isWatched = false
    unwatchExit(this.#exit)
    this.emit('drained')
  }

  /** Tells of the first loss of each reason, when nobody else does. */
  #tell(error: DeliveryError): void {
    if (this.#told.has(error.code)) return
    this.#told.add(error.code)
    warn(
      error.code,
      `an event was not delivered: ${error.message} (${error.code}). Further ones are counted in ` +
        `analytics.stats.failures.${error.code}; analytics.on('error', ...) is told of each.`,
    )
  }

  /** A failure that costs no event. */
  #report(error: DeliveryError, ctx: Context | undefined): void {
    if (this.listenerCount('error') > 0) this.emit('error', errorEvent(error, ctx))
    else if (!this.#told.has(error.message)) {
      this.#told.add(error.message)
      warn(error.code, error.message)
    }
  }

  #drain(timeout: number | undefined, onTimeout: () => void): Promise<FlushSummary> {
    const barrier = this.#ledger.barrier()
    if (barrier === undefined) return Promise.resolve({ delivered: 0, failed: 0, pending: 0 })
    const timeoutMs = isTimeout(timeout) ? timeout : undefined
    this.#delivery.flush()
    return new Promise((resolve) => {
      const release = this.#clock.hold()
      let cancelTimer = (): void => {}
      let isOver = false
      const end = (): void => {
        // Once: a flush that timed out is still on the barrier's list.
        if (isOver) return
        isOver = true
        cancelTimer()
        release()
        resolve(barrier.summary())
      }
      barrier.onceReached(end)
      if (timeoutMs === undefined) return
      cancelTimer = this.#clock.setTimer(() => {
        onTimeout()
        end()
      }, timeoutMs)
    })
  }

  async #close(timeout: number | undefined): Promise<FlushSummary> {
    const message = 'it was still waiting when closeAndFlush() timed out'
    const timeoutMs = isTimeout(timeout) ? timeout : CLOSE_TIMEOUT_MS
    const summary = await this.#drain(timeoutMs, () => this.#abandon(message))
    this.#abandon(message)
    this.#credentials.close()
    unwatchExit(this.#exit)
    return summary
  }

  /** Gives every event that has none its outcome, and stops all that is under way. */
  #abandon(message: string): void {
    this.#settleAllEarly()
    const error = new DeliveryError('shutdown_timeout', message)
    for (const entry of this.#held) this.#settle(entry, error, 0)
    this.#held.clear()
    this.#pipeline.abandon()
    this.#delivery.abandon(error)
    this.#credentials.abort()
  }

  #onExit(): void {
    const exit = this.#exit
    if (exit.isRunning) return
    const message = 'the process ended, and exitTimeout with it'
    // Half as long after each time-out in a row: code that tracks in answer to losses must not keep the process for ever,
    // and a script that goes on after an outage must not lose what comes after it.
    const timeoutMs = this.#settings.exitTimeout / 2 ** exit.timeouts
    if (timeoutMs < 1) return this.#abandon(message)
    exit.isRunning = true
    let timeouts = 0
    const giveUp = (): void => {
      timeouts = exit.timeouts + 1
      this.#abandon(message)
    }
    void this.#drain(timeoutMs, giveUp).then(() => {
      exit.isRunning = false
      exit.timeouts = timeouts
    })
  }
}

function toDeliveryError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('unserializable', 'a field of the event throws when it is read', { cause: error })
}

/** Any other value counts as none given. */
function isTimeout(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

function toPluginError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error
  return new DeliveryError('plugin', 'a plugin replaced the event by what is none', { cause: error })
}

/** Whoever looks for what made an event too large should know whether it was a plugin. */
function withFormerSize(error: DeliveryError, original: Message | undefined): DeliveryError {
  if (error.code !== 'too_large' || original === undefined) return error
  try {
    const bytes = byteLength(serialize(original))
    return new DeliveryError(error.code, `${error.message}; before the plugins it had ${bytes}`)
  } catch {
    return error
  }
}

/** Codes of events that never set out. */
const BEFORE_DELIVERY = new Set<string>(['invalid', 'unserializable', 'queue_full', 'plugin', 'closed'])

function errorEvent(reason: DeliveryError, ctx: Context | undefined): ErrorEvent {
  const isLocal =
    BEFORE_DELIVERY.has(reason.code) || (reason.code === 'too_large' && reason.status === undefined)
  const code = isLocal ? reason.code : 'delivery_failure'
  return ctx === undefined ? { code, reason } : { code, reason, ctx }
}

function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, httpClient, oauthSettings, waitUntil, ...rest } = settings
  return rest
}

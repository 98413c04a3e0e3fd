import { Registry } from './client/registry.ts'
import { createPromises, createScope, readOptions, type ScopedTracker } from './client/trackers.ts'
import type { Verification } from './client/verify.ts'
import { accept } from './core/accept.ts'
import { CLOSE_TIMEOUT_MS, close } from './core/close.ts'
import type { Core } from './core/core.ts'
import { type FlushSummary, type Stats, statsOf } from './core/counts.ts'
import { createCore, type Seams } from './core/create.ts'
import { flush, limitOf, stored } from './core/flush.ts'
import { type Status, statusOf } from './core/status.ts'
import { describeCause } from './errors/cause.ts'
import { fromCaller } from './errors/guard.ts'
import { Emitter, emit, type Listeners } from './events/emitter.ts'
import type { AnalyticsEvents, FlushOptions } from './events/events.ts'
import type { Scope } from './message/scope.ts'
import type { GroupTraits, UserTraits } from './message/shapes.ts'
import type {
  AliasParams,
  AnyEvents,
  EventName,
  GroupParams,
  IdentifyParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from './message/types.ts'
import type { Callback } from './pipeline/context.ts'
import type { Plugin, PluginHost } from './pipeline/plugin.ts'
import type { PluginFunction } from './pipeline/registration.ts'
import type { Tracker, TrackerPromises } from './pipeline/tracker.ts'
import { soon, systemClock } from './runtime/clock.ts'
import { publicSettings, resolveSettings } from './settings/resolve.ts'
import type { AnalyticsSettings } from './settings/settings.ts'
import { VERSION } from './version.ts'

/** Where `Symbol.asyncDispose` is missing (Node.js 16), esbuild and Babel use this other symbol. */
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)

/**
 * The client: takes events, delivers them in batches, and reports the outcome of each event.
 *
 * The constructor throws on bad settings. The six calls throw on bad arguments when `strict` is set. The calls of `promises`
 * reject when an event is not delivered. Nothing else throws or rejects. Methods may be detached from the client.
 *
 * @example
 * const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY })
 * analytics.track({ userId: 'ada', event: 'Order Completed', properties: { total: 42.5 } })
 * await analytics.closeAndFlush()
 */
export class Analytics<Events = AnyEvents, User = UserTraits, Group = GroupTraits>
  extends Emitter<AnalyticsEvents>
  implements Tracker<Events, User, Group>
{
  readonly #core: Core
  readonly #registry: Registry
  #promises: TrackerPromises<Events, User, Group> | undefined

  /**
   * Makes a client. Opens no connection before the first event.
   *
   * @throws SettingsError when a setting is missing or invalid; the error names the setting.
   */
  constructor(settings: AnalyticsSettings)
  constructor(settings: AnalyticsSettings, seams: Seams = { clock: systemClock }) {
    const listeners: Listeners<AnalyticsEvents> = new Map()
    super(listeners)
    try {
      const resolved = seams.request?.settings ?? resolveSettings(settings)
      this.#core = createCore(resolved, this as Emitter<AnalyticsEvents> & PluginHost, listeners, seams)
    } catch (error) {
      throw fromCaller(error, new.target)
    }
    this.#registry = new Registry(this.#core)
    methodNames ??= methodsOf(Analytics, Emitter)
    bindMethods(this, methodNames)
    // Emitted later, so that the code that makes the client can add listeners first.
    soon(() => emit(this.#core.client, 'initialize', publicSettings(this.#core.settings)))
  }

  /** The version of this library, for example `0.1.0`. */
  get VERSION(): string {
    return VERSION
  }

  /** Counts of events at this instant: `accepted = delivered + failed + deferred + pending`. */
  get stats(): Stats {
    return statsOf(this.#core.counts)
  }

  /** The state of the client at this instant: queued events, requests in flight, pauses, and the last error. */
  get status(): Status {
    return statusOf(this.#core)
  }

  /** Resolves when every plugin registered so far has loaded, or has failed to load. Never rejects. */
  get ready(): Promise<void> {
    return this.#registry.ready
  }

  // The six calls are documented at Tracker.

  identify(params: IdentifyParams<User>, callback?: Callback): void {
    accept(this.#core, 'identify', params, callback)
  }

  track<Name extends EventName<Events>>(params: TrackParams<Events, Name>, callback?: Callback): void {
    accept(this.#core, 'track', params, callback)
  }

  page(params: PageParams, callback?: Callback): void {
    accept(this.#core, 'page', params, callback)
  }

  screen(params: ScreenParams, callback?: Callback): void {
    accept(this.#core, 'screen', params, callback)
  }

  group(params: GroupParams<Group>, callback?: Callback): void {
    accept(this.#core, 'group', params, callback)
  }

  alias(params: AliasParams, callback?: Callback): void {
    accept(this.#core, 'alias', params, callback)
  }

  /**
   * The six calls as promises, sent at the end of this turn of the event loop. They settle with the outcome of their event.
   */
  get promises(): TrackerPromises<Events, User, Group> {
    if (this.#promises === undefined) this.#promises = createPromises(this.#core)
    return this.#promises
  }

  /**
   * The six calls with defaults for what they leave out, over the queue and the connections of this client. Scopes can be nested.
   *
   * @example
   * analytics.with({ userId: 'ada', context: { ip: request.ip } }).track({ event: 'Signed Up' })
   */
  with(scope: Scope): ScopedTracker<Events, User, Group> {
    return createScope(this.#core, undefined, scope)
  }

  /**
   * Sends all queued events when this turn is over. Resolves when every event accepted before this call has its outcome; at its
   * `timeout`; or when the service is found to be failing: after `maxRetries` + 1 failed requests in a row, or 10 s with nothing
   * accepted. What has no outcome by then stays queued and is sent later. Called synchronously in a handler of a plugin, it
   * resolves at once. Calls may overlap. Never rejects.
   *
   * @returns Counts of the events that this call waited for.
   * @example
   * const { failed, pending } = await analytics.flush({ timeout: 5_000 })
   */
  flush(options: FlushOptions = {}): Promise<FlushSummary> {
    const { close: isClose, timeout } = readOptions(options)
    if (isClose === true) return this.#close(options)
    return flush(this.#core, limitOf(this.#core, timeout))
  }

  /**
   * Accepts no further events, and goes on trying until the timeout, through an outage too; it ends earlier only when every event
   * has its outcome, or when nothing is in flight and the service has stated a wait beyond the timeout. Then requests are aborted,
   * and each event that is left fails with `shutdown_timeout`, or stays in the spool with the outcome `deferred`. Later calls fail
   * with `closed`. Waits up to 1 s for promises that callbacks have returned. A second call waits for the first. Never rejects.
   *
   * @param options The `timeout` in milliseconds (0: no limit; a negative number: no wait; default: 25,000).
   * @returns As for `flush`, with `pending: 0`. Called synchronously in a handler of a plugin, it resolves at once, with what is
   * pending.
   * @example
   * process.once('SIGTERM', () => analytics.closeAndFlush({ timeout: 8_000 }))
   */
  closeAndFlush(options: Pick<FlushOptions, 'timeout'> = {}): Promise<FlushSummary> {
    return this.#close(options)
  }

  /**
   * Waits until the events accepted so far have left their plugins and are on the disk. Never rejects.
   *
   * @returns Whether they would all survive the death of the process, and a power cut where fsync is allowed. `false` without a
   * spool, and while the spool cannot write.
   */
  stored(): Promise<boolean> {
    return stored(this.#core)
  }

  /**
   * Checks by one request without events whether the service can be reached and accepts the credentials. Has no effect on
   * events, `stats` and waits. Never rejects.
   */
  verify(): Promise<Verification> {
    return verify(this.#core, this.#core.settings.host + this.#core.settings.path)
  }

  /** `await using analytics = new Analytics(...)` closes the client at the end of the block, as `closeAndFlush()` does. */
  async [asyncDispose](): Promise<void> {
    await this.closeAndFlush()
  }

  /**
   * Loads plugins and appends each to the plugins of its type. A function counts as a `before` plugin that returns the event to
   * deliver, or `null` to drop the event. What is no plugin is reported and left out, and so is a plugin that does not load within
   * 5 s, unless its `onLoadFailure` is `'drop'`. Resolves when the plugins have loaded and receive events. Never rejects.
   *
   * @example
   * await analytics.register((event) => (event.event === 'Health Checked' ? null : event))
   */
  register(...plugins: (Plugin | PluginFunction)[]): Promise<void> {
    return this.#registry.register(plugins)
  }

  /** Removes plugins by name. Resolves when they have unloaded. Unknown names are ignored. Never rejects. */
  deregister(...names: string[]): Promise<void> {
    return this.#registry.deregister(names)
  }

  /** The client for `JSON.stringify(analytics)`: without secrets. */
  toJSON(): { host: string; stats: Stats } {
    return { host: this.#core.settings.host, stats: this.stats }
  }

  /** The client for `console.log(analytics)` in Node.js. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { Analytics: this.toJSON() }
  }

  protected override onListenerError(error: unknown, name: keyof AnalyticsEvents): boolean {
    this.#core.observer.onListenerError(error, name)
    return true
  }

  #close(options: FlushOptions): Promise<FlushSummary> {
    const core = this.#core
    return close(core, limitOf(core, readOptions(options).timeout, CLOSE_TIMEOUT_MS))
  }
}

/** Loads the code of `verify()` on demand, because few programs call it. */
async function verify(core: Core, url: string): Promise<Verification> {
  try {
    const { verify } = await import(/* webpackMode: "eager" */ './client/verify.ts')
    return await verify(core, url)
  } catch (error) {
    // The code could not be loaded.
    return { reachable: false, authorized: undefined, status: undefined, url, hint: describeCause(error) }
  }
}

let methodNames: readonly string[] | undefined

/** The names of the methods of these classes, without methods whose key is a symbol. */
function methodsOf(...classes: readonly { readonly prototype: object }[]): string[] {
  const names = classes
    .flatMap(({ prototype }) => Object.entries(Object.getOwnPropertyDescriptors(prototype)))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name)
  // A subclass may override a method of its base class.
  return [...new Set(names)]
}

/** Lets methods be detached: `const { track } = analytics`. Each call looks the method up on the class, which may be patched. */
function bindMethods(client: object, names: readonly string[]): void {
  const methods = Object.getPrototypeOf(client) as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const value = (...args: unknown[]): unknown => methods[name]?.apply(client, args)
    // Not enumerable, like methods of a class. Writable, because tests replace methods with mocks.
    Object.defineProperty(client, name, { value, writable: true, configurable: true })
  }
}

import { compose } from './client/compose.ts'
import { Emitter, type Listeners } from './client/emitter.ts'
import type {
  AnalyticsEvents,
  EmittedEvents,
  FlushCallback,
  FlushOptions,
  FlushResult,
} from './client/events.ts'
import type { FlushSummary, Stats } from './client/ledger.ts'
import type { Status } from './client/monitor.ts'
import type { Parts } from './client/parts.ts'
import { createPromises, createScope, readOptions, type ScopedTracker } from './client/trackers.ts'
import type { Verification } from './client/verify.ts'
import { fromCaller, guard } from './errors/guard.ts'
import type { MessageStore } from './line/store.ts'
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
import { type Clock, soon, systemClock } from './runtime/clock.ts'
import { publicSettings, type ResolvedSettings, resolveSettings } from './settings/resolve.ts'
import type { AnalyticsSettings } from './settings/settings.ts'
import { VERSION } from './version.ts'

/** Node.js 16 has no such symbol: compilers then use this one. */
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)

/**
 * The client: takes events, delivers them in batches, and reports the outcome of each one.
 *
 * The constructor throws on bad settings, calls throw on bad arguments when `strict` is set, and `promises` rejects when an
 * event is not delivered. Nothing else throws or rejects. Methods may be detached: `const { track } = analytics`.
 *
 * @example
 * const analytics = new Analytics({ writeKey: process.env.WRITE_KEY })
 * analytics.track({ userId: 'ada', event: 'Order Completed', properties: { total: 42.5 } })
 * await analytics.closeAndFlush()
 */
export class Analytics<Events = AnyEvents, User = UserTraits, Group = GroupTraits>
  extends Emitter<AnalyticsEvents, EmittedEvents>
  implements Tracker<Events, User, Group>
{
  readonly #settings: ResolvedSettings
  readonly #parts: Parts
  #promises: TrackerPromises<Events, User, Group> | undefined

  /**
   * Makes a client. It opens no connection and sets no timer before the first event.
   *
   * @throws SettingsError when a setting is missing or invalid, or has another SDK's name; the error names the setting.
   */
  constructor(settings: AnalyticsSettings)
  constructor(
    settings: AnalyticsSettings,
    clock: Clock = systemClock,
    ...seams: [store?: MessageStore, pluginClock?: Clock]
  ) {
    const listeners: Listeners<AnalyticsEvents> = new Map()
    super(listeners)
    let resolved: ResolvedSettings
    try {
      resolved = resolveSettings(settings)
      const client = this as Emitter<AnalyticsEvents> & PluginHost
      this.#parts = compose(resolved, clock, client, listeners, ...seams)
    } catch (error) {
      throw fromCaller(error, new.target)
    }
    this.#settings = resolved
    methodNames ??= methodsOf(Analytics, Emitter)
    bindMethods(this, methodNames)
    // Later, so that the code that made the client can add listeners first.
    soon(() => this.emit('initialize', publicSettings(resolved)))
  }

  /** The version of this library, for example `0.1.0`. */
  get VERSION(): string {
    return VERSION
  }

  /** Counts of events at this instant: `accepted = delivered + failed + deferred + pending`. */
  get stats(): Stats {
    return this.#parts.stats()
  }

  /** How the client is doing at this instant: what waits, whether requests are held back, and what went wrong last. */
  get status(): Status {
    return this.#parts.status()
  }

  /** Resolves when every plugin registered so far has loaded or was left out. Never rejects. */
  get ready(): Promise<void> {
    return this.#parts.registry.ready
  }

  // The six calls are documented at Tracker.

  identify(params: IdentifyParams<User>, callback?: Callback): void {
    this.#parts.intake.submit('identify', params, callback)
  }

  track<Name extends EventName<Events>>(params: TrackParams<Events, Name>, callback?: Callback): void {
    this.#parts.intake.submit('track', params, callback)
  }

  page(params: PageParams, callback?: Callback): void {
    this.#parts.intake.submit('page', params, callback)
  }

  screen(params: ScreenParams, callback?: Callback): void {
    this.#parts.intake.submit('screen', params, callback)
  }

  group(params: GroupParams<Group>, callback?: Callback): void {
    this.#parts.intake.submit('group', params, callback)
  }

  alias(params: AliasParams, callback?: Callback): void {
    this.#parts.intake.submit('alias', params, callback)
  }

  /** The six calls as promises. The event is sent at the end of the turn; the promise settles with its outcome. */
  get promises(): TrackerPromises<Events, User, Group> {
    if (this.#promises === undefined) this.#promises = createPromises(this.#parts)
    return this.#promises
  }

  /**
   * The six calls with defaults: fields that a call leaves out are taken from `scope`. Shares queue and connections with this
   * client. Can be nested.
   *
   * @example
   * const log = analytics.with({ userId: 'ada', context: { ip: request.ip } })
   * log.track({ event: 'Signed Up' })
   */
  with(scope: Scope): ScopedTracker<Events, User, Group> {
    return createScope(this.#parts, undefined, scope)
  }

  /**
   * Sends all queued events at once, without waiting for `flushInterval`. Resolves when every event accepted before this call
   * has its outcome, including those in flight and inside plugins. Calls may overlap. Never rejects.
   *
   * @param options Or a callback, which is called with `(undefined, summary)`.
   * @returns How many of the events that it waited for were delivered, failed, and are still pending; `pending` is 0 unless
   * `timeout` was reached. Events that already had their outcome are only counted in `stats`. The `void` in the type lets
   * programs declare it as `Promise<void>`.
   * @example
   * const { failed, pending } = await analytics.flush({ timeout: 5_000 })
   */
  flush(options: FlushOptions | FlushCallback = {}): Promise<FlushResult> {
    const { lifecycle } = this.#parts
    const { close, timeout } = readOptions(options)
    return this.#withCallback(close === true ? lifecycle.close(timeout) : lifecycle.flush(timeout), options)
  }

  /**
   * Accepts no further events and flushes. At the timeout, open requests are aborted and every remaining event fails with
   * `shutdown_timeout`, or is `deferred` by a spool, before this resolves. Later events fail with `closed`. A second call
   * waits for the same close. Never rejects.
   *
   * @param options `timeout` in milliseconds; 0 means no limit. Default: 75,000. Or a callback, which is called with
   * `(undefined, summary)`.
   * @returns As for `flush`; `pending` is always 0.
   * @example
   * process.once('SIGTERM', () => analytics.closeAndFlush({ timeout: 8_000 }))
   */
  closeAndFlush(options: Pick<FlushOptions, 'timeout'> | FlushCallback = {}): Promise<FlushResult> {
    return this.#withCallback(this.#parts.lifecycle.close(readOptions(options).timeout), options)
  }

  /**
   * Waits for the spool: for events inside plugins to come out of them, and then for the disk. Never rejects.
   *
   * @returns Whether everything accepted before this call is as safe as the spool promises: in a file with `sync: 'never'`,
   * on the disk otherwise. `false` without a spool, and while it cannot write.
   * @example
   * analytics.track({ userId: 'ada', event: 'Order Completed' })
   * if (await analytics.stored()) response.end('thank you')
   */
  stored(): Promise<boolean> {
    return this.#parts.lifecycle.stored()
  }

  /**
   * Checks whether the service can be reached and accepts the credentials: one request without events, and with OAuth one for a
   * token if there is none. Does not affect events, `stats` or retry waits. Never rejects.
   *
   * @example
   * const { authorized, hint } = await analytics.verify()
   */
  verify(): Promise<Verification> {
    return this.#parts.verify()
  }

  /**
   * Closes the client at the end of a block, as `closeAndFlush()` does.
   *
   * @example
   * await using analytics = new Analytics({ writeKey })
   */
  async [asyncDispose](): Promise<void> {
    await this.closeAndFlush()
  }

  /**
   * Loads plugins and appends them to those of their type. A function is a `before` plugin: it is given each event and returns
   * the one that goes on, or `null` to drop it. A value that is not a valid plugin, or one that fails to load within 5 s, is
   * reported and left out.
   *
   * @returns Resolves when the plugins take part. Never rejects.
   * @example
   * await analytics.register({ name: 'release', type: 'enrichment', track: (ctx) => {
   *   ctx.updateEvent('context.app.version', process.env.RELEASE)
   *   return ctx
   * } })
   */
  register(...plugins: (Plugin | PluginFunction)[]): Promise<void> {
    return this.#parts.registry.register(plugins)
  }

  /** Removes plugins by name. Resolves when they have unloaded. Unknown names are ignored. Never rejects. */
  deregister(...names: string[]): Promise<void> {
    return this.#parts.registry.deregister(names)
  }

  /** The client for `JSON.stringify(analytics)`: without secrets. */
  toJSON(): { host: string; stats: Stats } {
    return { host: this.#settings.host, stats: this.stats }
  }

  /** The client for `console.log(analytics)` in Node.js. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { Analytics: this.toJSON() }
  }

  protected override onListenerError(error: unknown, name: keyof AnalyticsEvents): boolean {
    return this.#parts.warnings.takeListener(error, name)
  }

  #withCallback(flushed: Promise<FlushSummary>, callback: unknown): Promise<FlushResult> {
    if (typeof callback !== 'function') return flushed as Promise<FlushResult>
    const called = flushed.then((summary) => {
      guard(
        () => callback(undefined, summary),
        'a callback',
        (reason) => this.#parts.warnings.take('callback', reason),
      )
      return summary
    })
    return called as Promise<FlushResult>
  }
}

/** The names of all methods: each can be detached. Found when the first client is made. */
let methodNames: readonly string[] | undefined

/** The names of the methods of these classes. Methods whose key is a symbol are left out. */
function methodsOf(...classes: readonly { readonly prototype: object }[]): string[] {
  const names = classes
    .flatMap(({ prototype }) => Object.entries(Object.getOwnPropertyDescriptors(prototype)))
    .filter(([name, { value }]) => typeof value === 'function' && name !== 'constructor')
    .map(([name]) => name)
  // A class may override a method of another one: each name is listed once.
  return [...new Set(names)]
}

/**
 * Lets methods be detached from their client: `const { track } = analytics`. Each call looks the method up on the class, so
 * that later patches of the class take effect.
 */
function bindMethods(client: object, names: readonly string[]): void {
  const methods = Object.getPrototypeOf(client) as Record<string, (...args: unknown[]) => unknown>
  for (const name of names) {
    const value = (...args: unknown[]): unknown => methods[name]?.apply(client, args)
    // Not enumerable, and writable: users replace methods with their own in tests.
    Object.defineProperty(client, name, { value, writable: true, configurable: true })
  }
}

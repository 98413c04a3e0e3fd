import { compose, type Parts } from './client/compose.ts'
import { Emitter } from './client/emitter.ts'
import type { FlushSummary, Stats } from './client/ledger.ts'
import { describeCause } from './errors/cause.ts'
import { DeliveryError } from './errors/errors.ts'
import type { AnalyticsEvents, FlushOptions, PublicSettings } from './events.ts'
import type {
  AliasParams,
  GroupParams,
  IdentifyParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from './message/types.ts'
import type { Plugin } from './pipeline/plugin.ts'
import { type Clock, systemClock } from './runtime/clock.ts'
import { type ResolvedSettings, resolveSettings } from './settings/resolve.ts'
import type { AnalyticsSettings } from './settings/schema.ts'
import type { Callback, Tracker } from './tracker.ts'
import { VERSION } from './version.ts'

/** Where the runtime has no such symbol (Node.js 16), the one that compilers put in its place. */
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for('Symbol.asyncDispose') as typeof Symbol.asyncDispose)

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
export class Analytics extends Emitter<AnalyticsEvents> implements Tracker {
  readonly #settings: ResolvedSettings
  readonly #parts: Parts
  #ready: Promise<unknown> = Promise.resolve()

  /**
   * @throws SettingsError when a setting is missing, misspelt or out of range; it names the setting.
   */
  constructor(settings: AnalyticsSettings)
  constructor(settings: AnalyticsSettings, clock: Clock = systemClock) {
    super()
    const resolved = resolveSettings(settings)
    this.#settings = resolved
    this.#parts = compose(resolved, clock, this)
    for (const name of DETACHABLE) {
      // Not enumerable, and writable: tests of our users replace methods by their own.
      const value = (this[name] as (...args: never[]) => unknown).bind(this)
      Object.defineProperty(this, name, { value, writable: true, configurable: true })
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
    return this.#parts.ledger.stats()
  }

  /** Resolves when all plugins registered so far have loaded or were left out. */
  get ready(): Promise<void> {
    return this.#ready.then(() => {})
  }

  /** Ties a user to traits. */
  identify(params: IdentifyParams, callback?: Callback): void {
    this.#parts.intake.submit('identify', params, callback)
  }

  /** Records an action. */
  track(params: TrackParams, callback?: Callback): void {
    this.#parts.intake.submit('track', params, callback)
  }

  /** Records a page view. */
  page(params: PageParams, callback?: Callback): void {
    this.#parts.intake.submit('page', params, callback)
  }

  /** Records a view of a mobile screen. */
  screen(params: ScreenParams, callback?: Callback): void {
    this.#parts.intake.submit('screen', params, callback)
  }

  /** Puts a user into a company or team. */
  group(params: GroupParams, callback?: Callback): void {
    this.#parts.intake.submit('group', params, callback)
  }

  /** Ties one identity to another. */
  alias(params: AliasParams, callback?: Callback): void {
    this.#parts.intake.submit('alias', params, callback)
  }

  /**
   * Sends what waits and resolves when everything accepted before this call has its outcome, requests in
   * flight and events inside plugins included. Calls may overlap. Never rejects.
   *
   * @returns What became of the events that it waited for. `pending` is not 0 only after `timeout`.
   */
  flush(options: FlushOptions = {}): Promise<FlushSummary> {
    const { lifecycle } = this.#parts
    return options?.close === true ? lifecycle.close(options.timeout) : lifecycle.flush(options?.timeout)
  }

  /**
   * Takes no further events and flushes. At `timeout` what is open is aborted and every remaining event fails
   * with `shutdown_timeout`, before this resolves. A second call returns the first one's promise.
   */
  closeAndFlush(options: { timeout?: number | undefined } = {}): Promise<FlushSummary> {
    return this.#parts.lifecycle.close(options?.timeout)
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
          await this.#parts.pipeline.register(plugin)
          return plugin.name
        } catch (error) {
          const reason = new DeliveryError('plugin', describeCause(error), { cause: error })
          this.#parts.outcomes.report(reason, undefined)
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
    await Promise.all(names.map((name) => this.#parts.pipeline.deregister(name)))
    this.emit('deregister', names)
  }

  toJSON(): { host: string; stats: Stats } {
    return { host: this.#settings.host, stats: this.stats }
  }

  /** What `console.log(analytics)` shows in Node.js. */
  [Symbol.for('nodejs.util.inspect.custom')](): unknown {
    return { Analytics: this.toJSON() }
  }
}

function publicSettings(settings: ResolvedSettings): PublicSettings {
  const { writeKey, httpClient, oauthSettings, waitUntil, ...rest } = settings
  return rest
}

import { describeCause } from '../errors/cause.ts'
import { DeliveryError, isInstance, SettingsError } from '../errors/errors.ts'
import { isThenable } from '../errors/guard.ts'
import { isSwitchedOn } from '../message/integrations.ts'
import { KINDS, type Kind } from '../message/types.ts'
import type { Clock } from '../runtime/clock.ts'
import { Context, ContextCancelation } from './context.ts'
import { PLUGIN_TYPES, type Plugin, type PluginHost } from './plugin.ts'

/** Longest wait for one plugin: to load, or to handle one event. */
export const PLUGIN_TIMEOUT_MS = 5_000
/** How deep plugins may track from inside a handler. */
const MAX_NESTING = 1

export interface PipelineOptions {
  readonly clock: Clock
  readonly client: PluginHost
  /** Takes the failure of a plugin that does not cost the event. Never throws. */
  readonly report: (error: DeliveryError, ctx: Context | undefined) => void
}

/** The handlers of one kind of event, in the order in which they run. */
interface Stages {
  /** `before`, then `enrichment`. */
  readonly front: readonly Plugin[]
  readonly destinations: readonly Plugin[]
  readonly after: readonly Plugin[]
}

/** Takes an event through the plugins. Knows no HTTP; whether the event is sent is not its business. */
export class Pipeline {
  readonly #options: PipelineOptions
  #plugins: readonly Plugin[] = []
  #stages = stagesOf([])
  /** Plugins that events wait for. */
  readonly #loadingCritical = new Set<Plugin>()
  /** Destinations whose events wait for them, beside the delivery. */
  readonly #loadingDestinations = new Map<Plugin, Promise<unknown>>()
  #waiting: (() => void)[] = []
  /** Ends the wait for one plugin each. */
  readonly #giveUps = new Set<(reason: Error) => void>()
  #nesting = 0

  constructor(options: PipelineOptions) {
    this.#options = options
  }

  /** Whether any plugin wants, or may come to want, events of this kind. If none does, there is no context to make. */
  concerns(kind: Kind): boolean {
    const { front, destinations, after } = this.#stages[kind]
    return this.#loadingCritical.size > 0 || front.length + destinations.length + after.length > 0
  }

  /**
   * Loads a plugin and puts it behind those of its type. Resolves when it takes part, or was left out.
   *
   * @throws SettingsError when it is no plugin, or one of that name is there.
   */
  register(plugin: Plugin): Promise<void> {
    validate(plugin)
    if (this.#plugins.some(({ name }) => name === plugin.name)) {
      throw new SettingsError('plugin', `there is one named '${plugin.name}' already`)
    }
    this.#change([...this.#plugins, plugin])
    const loading = this.#load(plugin)
    if (loading === undefined) return Promise.resolve()
    if (plugin.type === 'destination') {
      this.#loadingDestinations.set(plugin, loading)
      void loading.then(() => this.#loadingDestinations.delete(plugin))
    } else if (plugin.type !== 'utility') {
      this.#loadingCritical.add(plugin)
      void loading.then(() => this.#endLoading(plugin))
    }
    return loading
  }

  /** Takes a plugin out. Resolves when it has unloaded. */
  async deregister(name: string): Promise<void> {
    const plugin = this.#plugins.find((one) => one.name === name)
    if (plugin === undefined) return
    this.#change(this.#plugins.filter((one) => one !== plugin))
    // Nobody waits for a plugin that is on its way out.
    this.#endLoading(plugin)
    try {
      await plugin.unload?.(new Context(undefined, SYSTEM_EVENT), this.#options.client)
    } catch (error) {
      this.#report(plugin, 'failed to unload', error, undefined)
    }
  }

  /**
   * Runs the `before` and `enrichment` plugins. `done` is called exactly once: within this call where every
   * plugin is synchronous and loaded, later otherwise.
   *
   * @returns Whether `done` has been called.
   */
  run(kind: Kind, ctx: Context, done: (error: DeliveryError | undefined) => void): boolean {
    if (this.#nesting > MAX_NESTING) {
      done(
        new DeliveryError(
          'plugin',
          'tracked from inside a plugin that was handling an event tracked so itself',
        ),
      )
      return true
    }
    if (this.#loadingCritical.size > 0) {
      this.#waiting.push(() => this.#step(this.#stages[kind].front, 0, kind, ctx, done))
      return false
    }
    return this.#step(this.#stages[kind].front, 0, kind, ctx, done)
  }

  /** Hands the finished event to the destinations that its `integrations` leave on. */
  distribute(kind: Kind, ctx: Context): Promise<unknown> | undefined {
    const { destinations } = this.#stages[kind]
    if (destinations.length === 0) return undefined
    return all(
      destinations
        .filter((plugin) => isChosen(plugin, ctx))
        .map((plugin) => {
          const loading = this.#loadingDestinations.get(plugin)
          if (loading === undefined) return this.#callAside(plugin, kind, ctx)
          return loading.then(() =>
            this.#plugins.includes(plugin) ? this.#callAside(plugin, kind, ctx) : undefined,
          )
        }),
    )
  }

  /** Runs the `after` plugins of a settled event. */
  conclude(kind: Kind, ctx: Context): Promise<unknown> | undefined {
    const { after } = this.#stages[kind]
    return after.length === 0 ? undefined : all(after.map((plugin) => this.#callAside(plugin, kind, ctx)))
  }

  /** Waits for no plugin any longer; what they were at is theirs to end. */
  abandon(): void {
    this.#waiting = []
    for (const giveUp of this.#giveUps) giveUp(new Error('its time was over'))
  }

  #change(plugins: readonly Plugin[]): void {
    this.#plugins = plugins
    this.#stages = stagesOf(plugins)
  }

  #endLoading(plugin: Plugin): void {
    this.#loadingCritical.delete(plugin)
    if (this.#loadingCritical.size > 0) return
    for (const run of this.#waiting.splice(0)) run()
  }

  /** `undefined` when the plugin has loaded within the call. */
  #load(plugin: Plugin): Promise<void> | undefined {
    const leaveOut = (error: unknown): void => {
      this.#change(this.#plugins.filter((one) => one !== plugin))
      this.#report(plugin, 'failed to load and was left out', error, undefined)
    }
    try {
      const loaded = plugin.load(new Context(undefined, SYSTEM_EVENT), this.#options.client)
      const ready = plugin.ready?.bind(plugin)
      if (!isThenable(loaded) && ready === undefined) return undefined
      const whole = Promise.resolve(loaded).then(() => ready?.())
      return this.#withTimeout(whole).then(() => {}, leaveOut)
    } catch (error) {
      leaveOut(error)
      return undefined
    }
  }

  #step(
    front: readonly Plugin[],
    from: number,
    kind: Kind,
    ctx: Context,
    done: (error: DeliveryError | undefined) => void,
  ): boolean {
    for (let index = from; index < front.length; index++) {
      const plugin = front[index] as Plugin
      try {
        const result = this.#call(plugin, kind, ctx)
        if (isThenable(result)) {
          const goOn = (): boolean => this.#step(front, index + 1, kind, ctx, done)
          this.#withTimeout(result).then(goOn, (error) => {
            const fatal = this.#judge(plugin, error, ctx)
            if (fatal === undefined) goOn()
            else done(fatal)
          })
          return false
        }
      } catch (error) {
        const fatal = this.#judge(plugin, error, ctx)
        if (fatal !== undefined) {
          done(fatal)
          return true
        }
      }
    }
    done(undefined)
    return true
  }

  /** What the failure of a `before` or `enrichment` plugin means for the event. */
  #judge(plugin: Plugin, error: unknown, ctx: Context): DeliveryError | undefined {
    if (plugin.type !== 'before') {
      this.#report(plugin, 'failed and was skipped', error, ctx)
      return undefined
    }
    const verb = isInstance(error, ContextCancelation) ? 'dropped the event' : 'failed'
    return pluginError(plugin, verb, error)
  }

  /** Calls a handler whose failure is reported and nothing else. A promise only while it is at work. */
  #callAside(plugin: Plugin, kind: Kind, ctx: Context): Promise<unknown> | undefined {
    try {
      const result = this.#call(plugin, kind, ctx)
      if (!isThenable(result)) return undefined
      return this.#withTimeout(result).catch((error) => this.#report(plugin, 'failed', error, ctx))
    } catch (error) {
      this.#report(plugin, 'failed', error, ctx)
      return undefined
    }
  }

  /** What a handler returns is awaited, and otherwise of no account: the context that it was given goes on. */
  #call(plugin: Plugin, kind: Kind, ctx: Context): unknown {
    if (!plugin.isLoaded()) return undefined
    this.#nesting++
    try {
      return plugin[kind]?.(ctx)
    } finally {
      this.#nesting--
    }
  }

  #withTimeout(promise: PromiseLike<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancel()
        this.#giveUps.delete(giveUp)
      }
      const giveUp = (reason: unknown): void => {
        end()
        reject(reason)
      }
      const cancel = this.#options.clock.setTimer(
        () => giveUp(new Error(`no answer within ${PLUGIN_TIMEOUT_MS} ms`)),
        PLUGIN_TIMEOUT_MS,
      )
      this.#giveUps.add(giveUp)
      promise.then((value) => {
        end()
        resolve(value)
      }, giveUp)
    })
  }

  #report(plugin: Plugin, verb: string, error: unknown, ctx: Context | undefined): void {
    this.#options.report(pluginError(plugin, verb, error), ctx)
  }
}

/** What `load` and `unload` are given as the event of their context. */
const SYSTEM_EVENT = JSON.stringify({ type: 'track', event: 'system', messageId: 'system', timestamp: 0 })

function stagesOf(plugins: readonly Plugin[]): Record<Kind, Stages> {
  const entries = KINDS.map((kind): [Kind, Stages] => {
    const of = (type: Plugin['type']): Plugin[] =>
      plugins.filter((plugin) => plugin.type === type && typeof plugin[kind] === 'function')
    return [
      kind,
      { front: [...of('before'), ...of('enrichment')], destinations: of('destination'), after: of('after') },
    ]
  })
  return Object.fromEntries(entries) as Record<Kind, Stages>
}

/** Switches that throw when they are read switch nothing off. */
function isChosen(plugin: Plugin, ctx: Context): boolean {
  try {
    const { alternativeNames } = plugin
    const names = [plugin.name, ...(Array.isArray(alternativeNames) ? alternativeNames : [])]
    return isSwitchedOn(ctx.event.integrations, names)
  } catch {
    return true
  }
}

function all(work: (Promise<unknown> | undefined)[]): Promise<unknown> | undefined {
  const open = work.filter((one) => one !== undefined)
  return open.length === 0 ? undefined : Promise.all(open)
}

function pluginError(plugin: Plugin, verb: string, error: unknown): DeliveryError {
  return new DeliveryError('plugin', `the plugin '${plugin.name}' ${verb}: ${describeCause(error)}`, {
    cause: error,
  })
}

function validate(plugin: Plugin): void {
  const fail = (what: string): never => {
    throw new SettingsError('plugin', `expected ${what}`)
  }
  if (typeof plugin !== 'object' || plugin === null) fail('an object')
  if (typeof plugin.name !== 'string' || plugin.name === '') fail('a non-empty name')
  if (!PLUGIN_TYPES.includes(plugin.type)) fail(`one of the types ${PLUGIN_TYPES.join(', ')}`)
  if (typeof plugin.load !== 'function' || typeof plugin.isLoaded !== 'function')
    fail('the methods load and isLoaded')
}

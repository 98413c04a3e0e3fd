import { ContextCancelation, DeliveryError } from '../errors/errors.ts'
import { isInstance, isThenable } from '../errors/guard.ts'
import type { Kind } from '../message/types.ts'
import { type Clock, soon } from '../runtime/clock.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { Context, Reporter } from './context.ts'
import { continueWith, pluginError, pluginFailure, type Report, UnusableResult } from './handler-result.ts'
import { Lineage } from './lineage.ts'
import type { Plugin, PluginHost } from './plugin.ts'
import { PluginLoader } from './plugin-loader.ts'
import { handlerOf, handles, isChosen, type Registration, stagesOf } from './registration.ts'
import { Abandoned, TimeLimits, Turns } from './time-limits.ts'

/** A plugin may track while it handles an event of the program, but not while it handles an event of a plugin. */
const MAX_DEPTH = 1

export interface PipelineOptions {
  readonly clock: Clock
  /** The second argument of `load` and `unload` of each plugin. */
  readonly client: PluginHost
  readonly report: Report
  /** Lets the caller run a new plugin on events of this turn that have already gone through the other plugins. */
  readonly onRegister?: (plugin: Registration) => void
  /** A plugin loader that several pipelines share. Default: the pipeline makes its own. */
  readonly plugins?: PluginLoader | undefined
}

/** Called once, when the plugins have handled an event. `ctx` may be a context that a plugin returned. */
export type Done = (error: DeliveryError | undefined, ctx: Context) => void

/** One event inside the `before` and `enrichment` plugins. */
interface Passage {
  readonly kind: Kind
  front: readonly Registration[]
  ctx: Context
  readonly done: Done
}

/** @see docs/spec.md, section 7 */
export class Pipeline {
  readonly #report: Report
  readonly #reporter: Reporter
  readonly #loader: PluginLoader
  readonly #limits: TimeLimits
  readonly #lineage: Lineage
  readonly #turns: Turns
  #stages = stagesOf([])
  /** `true` while no plugin is registered and no required one has failed to load: {@link concerns} need not be called then. */
  isEmpty = true
  /** Events that wait for a plugin to load, or for the next turn of the event loop. */
  #waiting: (() => void)[] = []
  /** The number of calls of {@link abandon}. */
  #era = 0
  /** The events that entered an asynchronous plugin in this turn. */
  readonly #ofThisTurn = new Set<Passage>()

  constructor({ clock, client, report, onRegister, plugins }: PipelineOptions) {
    this.#report = report
    this.#reporter = (ctx, plugin, reason) => report(pluginFailure(plugin, 'reported', reason, ctx))
    this.#limits = new TimeLimits(clock)
    this.#lineage = new Lineage(clock)
    this.#turns = new Turns(clock, () => this.release())
    this.#loader =
      plugins ??
      new PluginLoader({
        limits: this.#limits,
        client,
        report,
        onChange: () => this.arrange(),
        onReady: () => this.release(),
        onRegister: (added) => {
          this.join(added)
          onRegister?.(added)
        },
      })
    if (plugins !== undefined) this.arrange()
  }

  /** Called when a plugin was added, loaded or removed. */
  arrange(): void {
    this.#stages = stagesOf(this.#loader.registrations)
    this.isEmpty = this.#loader.registrations.length === 0 && this.#loader.missing === undefined
  }

  /** Events of this turn that are still inside an asynchronous plugin also go through the added plugin. */
  join(added: Registration): void {
    if (added.type !== 'before' && added.type !== 'enrichment') return
    for (const one of this.#ofThisTurn) if (handles(added, one.kind)) one.front = [...one.front, added]
  }

  /**
   * Whether events of this kind need a context: a plugin handles them, may handle them once it has loaded, or has failed to
   * load and blocks them.
   */
  concerns(kind: Kind): boolean {
    if (this.#loader.isLoading || this.#loader.missing !== undefined) return true
    const { front, destinations, after, utilities } = this.#stages[kind]
    return front.length + destinations.length + after.length + utilities.length > 0
  }

  /**
   * Resolves to the name of the plugin, or to `undefined` when the plugin failed to load.
   *
   * @throws SettingsError when `plugin` is not a plugin, or its name is taken; any error that a getter of the plugin throws.
   */
  register(plugin: Plugin): Promise<string | undefined> {
    return this.#loader.register(plugin)
  }

  deregister(name: string): Promise<boolean> {
    return this.#loader.deregister(name)
  }

  /**
   * Runs the `before` and `enrichment` plugins. `done` is called exactly once: usually within this call if every plugin is
   * synchronous and loaded, otherwise later. After {@link abandon}, `done` is not called.
   *
   * @param front The plugins to run. Default: all `before` and `enrichment` plugins for this kind.
   * @returns Whether `done` has been called.
   */
  run(kind: Kind, ctx: Context, done: Done, front?: readonly Registration[]): boolean {
    const { depth } = this.#lineage
    if (depth > MAX_DEPTH) {
      const message = 'a plugin tracked this while handling an event that a plugin had tracked'
      done(new DeliveryError('plugin', message), ctx)
      return true
    }
    ctx.depth = depth
    ctx.reporter = this.#reporter
    if (this.#isHeld()) {
      // Other work starts the event later, and the event must not run in the asynchronous context of that work.
      const captured = new AsyncResource('Trackpost')
      this.#waiting.push(() => captured.runInAsyncScope(() => this.#start(kind, ctx, done, front)))
      return false
    }
    return this.#start(kind, ctx, done, front)
  }

  /**
   * Whether {@link run} is expected to return `false`. A plugin counts as synchronous until it returns a promise, unless its
   * handler is declared `async`.
   */
  mayWait(kind: Kind, front: readonly Registration[] = this.#stages[kind].front): boolean {
    return this.#isHeld() || front.some(({ isAsync }) => isAsync)
  }

  /** Whether an event has to wait before its first plugin. */
  #isHeld(): boolean {
    return this.#loader.isLoading || this.#turns.isOver()
  }

  get subjects(): readonly object[] {
    return this.#lineage.subjects
  }

  isFollowed(kind: Kind): boolean {
    const { destinations, after, utilities } = this.#stages[kind]
    return destinations.length + after.length + utilities.length > 0
  }

  /** Passes the finished event to the destination plugins that its `integrations` do not turn off. */
  distribute(
    kind: Kind,
    ctx: Context,
    destinations: readonly Registration[] = this.#stages[kind].destinations,
  ): Promise<unknown> | undefined {
    if (destinations.length === 0) return undefined
    const chosen = destinations.filter((one) => isChosen(one, ctx))
    const work = all([ctx.destinations, ...chosen.map((one) => this.#callAside(one, kind, ctx))])
    ctx.destinations = work
    return work
  }

  /**
   * Waits for the destination plugins of the event, then runs the `after` plugins, then the `utility` plugins. Each plugin runs
   * in the asynchronous context of its registration.
   */
  conclude(kind: Kind, ctx: Context): Promise<unknown> | undefined {
    const { after, utilities } = this.#stages[kind]
    const call = (one: Registration): Promise<unknown> | undefined =>
      one.asyncContext.runInAsyncScope(() => this.#callAside(one, kind, ctx))
    const era = this.#era
    let work = ctx.destinations
    for (const stage of [after, utilities]) {
      if (stage.length === 0) continue
      work =
        work === undefined
          ? all(stage.map(call))
          : work.then(() => this.#callLate(() => all(stage.map(call)), era))
    }
    return work
  }

  /**
   * Stops waiting for plugins. For the events inside plugins, `done` is not called: the caller gives these events their
   * outcome. Running plugins are not interrupted.
   */
  abandon(): void {
    this.#era++
    this.#waiting = []
    this.#turns.stop()
    this.#limits.abandon()
  }

  /**
   * Calls handlers that waited for other work. If {@link abandon} was called in the meantime, the client does not wait for
   * these handlers.
   */
  #callLate(call: () => Promise<unknown> | undefined, era: number): Promise<unknown> | undefined {
    const work = call()
    if (era !== this.#era) this.#limits.abandon()
    return work
  }

  release(): void {
    if (this.#loader.isLoading) return
    for (const start of this.#waiting.splice(0)) start()
  }

  #start(kind: Kind, ctx: Context, done: Done, front = this.#stages[kind].front): boolean {
    const { missing } = this.#loader
    if (missing !== undefined) {
      const message = `the plugin '${missing}' could not be loaded, and no event may go on without it`
      done(new DeliveryError('plugin', message), ctx)
      return true
    }
    return this.#step({ kind, front, ctx, done }, 0)
  }

  #step(passage: Passage, from: number): boolean {
    const { kind, front } = passage
    for (let index = from; index < front.length; index++) {
      const one = front[index] as Registration
      try {
        const result = this.#call(one, kind, passage.ctx)
        // Fast path: most handlers return the context that they were given.
        if (result !== passage.ctx && isThenable(result)) {
          one.isAsync = true
          this.#wait(passage, index, result)
          return false
        }
        passage.ctx = continueWith(result, passage.ctx, one)
      } catch (error) {
        if (this.#fail(passage, one, error)) return true
      }
    }
    passage.done(undefined, passage.ctx)
    return true
  }

  #wait(passage: Passage, index: number, result: PromiseLike<unknown>): void {
    const one = passage.front[index] as Registration
    if (this.#ofThisTurn.size === 0) soon(() => this.#ofThisTurn.clear())
    this.#ofThisTurn.add(passage)
    this.#limits
      .bound(result)
      .then((value) => {
        passage.ctx = continueWith(value, passage.ctx, one)
      })
      .then(
        () => this.#step(passage, index + 1),
        (error) => {
          // The caller of `abandon` gives the event its outcome.
          if (isInstance(error, Abandoned)) return
          if (!this.#fail(passage, one, error)) this.#step(passage, index + 1)
        },
      )
  }

  /** Returns whether the event has failed: the failure of an `enrichment` plugin is only reported. */
  #fail(passage: Passage, { name, type }: Registration, error: unknown): boolean {
    const { ctx } = passage
    if (type !== 'before') {
      const verb = isInstance(error, UnusableResult)
        ? 'returned something that was ignored'
        : 'failed and was skipped'
      this.#report(pluginFailure(name, verb, error, ctx))
      return false
    }
    passage.done(pluginError(name, verbOf(error), error), ctx)
    return true
  }

  /** Calls a handler whose failure is only reported. Returns `undefined` if there is nothing to wait for. */
  #callAside(one: Registration, kind: Kind, ctx: Context): Promise<unknown> | undefined {
    const loading = this.#loader.loadingOf(one)
    if (loading === undefined) return this.#callLoaded(one, kind, ctx)
    return loading.then(() => (one.state === 'loaded' ? this.#callLoaded(one, kind, ctx) : undefined))
  }

  #callLoaded(one: Registration, kind: Kind, ctx: Context): Promise<unknown> | undefined {
    const fail = (error: unknown): void => {
      const verb = isInstance(error, Abandoned) ? 'was not waited for' : 'failed'
      this.#report(pluginFailure(one.name, verb, error, ctx))
    }
    try {
      const result = this.#call(one, kind, ctx)
      if (!isThenable(result)) return undefined
      one.isAsync = true
      return this.#limits.bound(result).catch(fail)
    } catch (error) {
      fail(error)
      return undefined
    }
  }

  #call({ plugin, isAsync }: Registration, kind: Kind, ctx: Context): unknown {
    if (plugin.isLoaded !== undefined && !plugin.isLoaded()) return undefined
    const work = { depth: ctx.depth + 1, subject: ctx.subject }
    return this.#lineage.run(work, () => {
      const handler = handlerOf(plugin, kind)
      if (handler === undefined) return undefined
      return isAsync ? this.#lineage.follow(work, () => handler.call(plugin, ctx)) : handler.call(plugin, ctx)
    })
  }
}

function verbOf(error: unknown): string {
  if (isInstance(error, ContextCancelation)) return 'dropped the event'
  return isInstance(error, UnusableResult) ? 'returned something unusable' : 'failed'
}

function all(work: (Promise<unknown> | undefined)[]): Promise<unknown> | undefined {
  const open = work.filter((one) => one !== undefined)
  return open.length === 0 ? undefined : Promise.all(open)
}

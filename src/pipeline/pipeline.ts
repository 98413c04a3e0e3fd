import { ContextCancelation, DeliveryError } from '../errors/errors.ts'
import { isInstance, isThenable } from '../errors/guard.ts'
import type { Kind } from '../message/types.ts'
import type { Clock } from '../runtime/clock.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { Context, Reporter } from './context.ts'
import { continueWith, pluginError, pluginFailure, type Report, UnusableResult } from './handler-result.ts'
import type { Plugin, PluginHost } from './plugin.ts'
import { PluginLoader } from './plugin-loader.ts'
import { handlerOf, isChosen, type Registration, stagesOf } from './registration.ts'
import { Abandoned, TimeLimits } from './time-limits.ts'

/** A plugin may track while it handles an event of the program, but not while it handles an event of a plugin. */
const MAX_DEPTH = 1

/** The part of an event that its plugins need. */
export interface Passenger {
  readonly kind: Kind
  readonly seq: number
  readonly depth: number
}

/** Called once, when the plugins have handled an event. `ctx` may be a context that a plugin returned. */
export type Done = (error: DeliveryError | undefined, ctx: Context) => void

/** One event inside the `before` and `enrichment` plugins. */
interface Passage {
  readonly event: Passenger
  readonly front: readonly Registration[]
  ctx: Context
  readonly done: Done
}

/** Runs the plugins of a client, in their order. @see docs/spec.md, section 7 */
export class Pipeline {
  readonly #report: Report
  readonly #reporter: Reporter
  readonly #loader: PluginLoader
  readonly #limits: TimeLimits
  #stages = stagesOf([])
  /** `true` while no plugin is registered and no required one has failed to load: {@link concerns} need not be called then. */
  isEmpty = true
  /** Events that wait for a plugin to load. */
  #waiting: (() => void)[] = []
  /** The number of calls of {@link abandon}. */
  #era = 0
  /** The events of the handlers that are on the stack now, the innermost last. */
  readonly #running: Passenger[] = []

  constructor(clock: Clock, client: PluginHost, report: Report) {
    this.#report = report
    this.#reporter = (ctx, plugin, reason) => report(pluginFailure(plugin, 'reported', reason, ctx))
    this.#limits = new TimeLimits(clock)
    this.#loader = new PluginLoader({
      limits: this.#limits,
      client,
      report,
      onChange: () => this.#arrange(),
      onReady: () => this.#release(),
      call: (run) => this.#callSync(OUTSIDE, run),
    })
  }

  /** Whether the code that runs now was called synchronously by a plugin. */
  get isInHandler(): boolean {
    return this.#running.length > 0
  }

  /** The depth of an event that is tracked now: 1 inside a synchronous handler for an event of the program. */
  get depth(): number {
    const { length } = this.#running
    return length === 0 ? 0 : (this.#running[length - 1] as Passenger).depth + 1
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

  /**
   * Removes a plugin: it handles the events up to the number `lastSeq` until `passed` resolves, and then none.
   *
   * @returns Whether there was such a plugin.
   */
  deregister(name: string, lastSeq: number, passed: Promise<void>): Promise<boolean> {
    return this.#loader.deregister(name, lastSeq, passed)
  }

  /**
   * Runs the `before` and `enrichment` plugins. `done` is called exactly once: within this call if every plugin is synchronous
   * and loaded, otherwise later. After {@link abandon}, `done` is not called.
   *
   * @returns Whether `done` has been called.
   */
  run(event: Passenger, ctx: Context, done: Done): boolean {
    if (event.depth > MAX_DEPTH) {
      const message = 'a plugin tracked this while handling an event that a plugin had tracked'
      done(new DeliveryError('plugin', message), ctx)
      return true
    }
    ctx.reporter = this.#reporter
    if (!this.#loader.isLoading) return this.#start(event, ctx, done)
    // Other work starts the event later, and the event must not run in the asynchronous context of that work.
    const captured = new AsyncResource('Trackpost')
    this.#waiting.push(() => captured.runInAsyncScope(() => this.#start(event, ctx, done)))
    return false
  }

  isFollowed(kind: Kind): boolean {
    const { destinations, after, utilities } = this.#stages[kind]
    return destinations.length + after.length + utilities.length > 0
  }

  /** Passes the finished event to the destination plugins that its `integrations` do not turn off. */
  distribute(event: Passenger, ctx: Context): Promise<unknown> | undefined {
    const { destinations } = this.#stages[event.kind]
    if (destinations.length === 0) return undefined
    const chosen = destinations.filter((one) => isChosen(one, ctx))
    const work = all(chosen.map((one) => this.#callAside(one, event, ctx)))
    ctx.destinations = work
    return work
  }

  /**
   * Waits for the destination plugins of the event, then runs the `after` plugins, then the `utility` plugins. Each plugin runs
   * in the asynchronous context of its registration.
   */
  conclude(event: Passenger, ctx: Context): Promise<unknown> | undefined {
    const { after, utilities } = this.#stages[event.kind]
    const call = (one: Registration): Promise<unknown> | undefined =>
      one.asyncContext.runInAsyncScope(() => this.#callAside(one, event, ctx))
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
    this.#limits.abandon()
  }

  #arrange(): void {
    this.#stages = stagesOf(this.#loader.registrations)
    this.isEmpty = this.#loader.registrations.length === 0 && this.#loader.missing === undefined
  }

  #release(): void {
    for (const start of this.#waiting.splice(0)) start()
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

  #start(event: Passenger, ctx: Context, done: Done): boolean {
    const { missing } = this.#loader
    if (missing !== undefined) {
      const message = `the plugin '${missing}' could not be loaded, and no event may go on without it`
      done(new DeliveryError('plugin', message), ctx)
      return true
    }
    return this.#step({ event, front: this.#stages[event.kind].front, ctx, done }, 0)
  }

  #step(passage: Passage, from: number): boolean {
    const { event, front } = passage
    for (let index = from; index < front.length; index++) {
      const one = front[index] as Registration
      try {
        const result = this.#call(one, event, passage.ctx)
        // Fast path: most handlers return the context that they were given.
        if (result !== passage.ctx && isThenable(result)) {
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
  #callAside(one: Registration, event: Passenger, ctx: Context): Promise<unknown> | undefined {
    return one.loading === undefined
      ? this.#callLoaded(one, event, ctx)
      : one.loading.then(() => this.#callLoaded(one, event, ctx))
  }

  #callLoaded(one: Registration, event: Passenger, ctx: Context): Promise<unknown> | undefined {
    const fail = (error: unknown): void => {
      const verb = isInstance(error, Abandoned) ? 'was not waited for' : 'failed'
      this.#report(pluginFailure(one.name, verb, error, ctx))
    }
    try {
      const result = this.#call(one, event, ctx)
      if (!isThenable(result)) return undefined
      return this.#limits.bound(result).catch(fail)
    } catch (error) {
      fail(error)
      return undefined
    }
  }

  #call(one: Registration, event: Passenger, ctx: Context): unknown {
    // Never before its load has ended, after it has failed, or after `deregister`.
    if (one.state !== 'loaded' || event.seq > one.lastSeq) return undefined
    const { plugin } = one
    return this.#callSync(event, () => {
      if (plugin.isLoaded !== undefined && !plugin.isLoaded()) return undefined
      return handlerOf(plugin, event.kind)?.call(plugin, ctx)
    })
  }

  /** Calls code of a plugin: what it tracks before it returns is known as the plugin's. */
  #callSync<Result>(event: Passenger, run: () => Result): Result {
    this.#running.push(event)
    try {
      return run()
    } finally {
      this.#running.pop()
    }
  }
}

/** What `load` and `unload` track counts as tracked by the program. */
const OUTSIDE: Passenger = { kind: 'track', seq: 0, depth: -1 }

function verbOf(error: unknown): string {
  if (isInstance(error, ContextCancelation)) return 'dropped the event'
  return isInstance(error, UnusableResult) ? 'returned something unusable' : 'failed'
}

function all(work: (Promise<unknown> | undefined)[]): Promise<unknown> | undefined {
  const open = work.filter((one) => one !== undefined)
  return open.length === 0 ? undefined : Promise.all(open)
}

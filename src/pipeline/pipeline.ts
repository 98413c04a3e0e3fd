import { ContextCancelation, DeliveryError } from '../errors/errors.ts'
import { isThenable } from '../errors/guard.ts'
import type { Kind } from '../message/types.ts'
import type { Clock } from '../runtime/clock.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { Context, Reporter } from './context.ts'
import { continueWith, pluginError, pluginFailure, type Report, UnusableResult } from './handler-result.ts'
import type { Plugin, PluginHost } from './plugin.ts'
import { PluginLoader } from './plugin-loader.ts'
import { handlerOf, isChosen, type Registration, type Stages, stagesOf } from './registration.ts'
import { Abandoned, TimeLimits } from './time-limits.ts'

/** A plugin may track while it handles an event of the program, but not while it handles an event of a plugin. */
const MAX_DEPTH = 1

/** The part of an event that its plugins need. */
export interface Passenger {
  readonly kind: Kind
  readonly depth: number
}

/** Called once, when the plugins have handled an event. `ctx` may be a context that a plugin returned. */
export type Done = (error: DeliveryError | undefined, ctx: Context) => void

/** One event and the plugins that it passes: those that were registered when it entered them. */
export interface Passage {
  readonly event: Passenger
  readonly stages: Stages
  ctx: Context
  readonly done: Done
  /** Settles when the destination plugins have handled the event; `undefined` when none is running. */
  destinations: Promise<unknown> | undefined
  /** Whether its event was abandoned. */
  isOver: boolean
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
  /** The passages that have not left the `before` and `enrichment` plugins. */
  readonly #inside = new Set<Passage>()
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

  /** See {@link PluginLoader.register}. */
  register(plugin: Plugin, onLoad: (name: string) => void = () => {}): Promise<void> {
    return this.#loader.register(plugin, onLoad)
  }

  /** See {@link PluginLoader.deregister}. */
  deregister(name: string, turnIsOver: Promise<void>): Promise<boolean> {
    return this.#loader.deregister(name, turnIsOver)
  }

  /** The plugins that an event passes are settled here. */
  enter(event: Passenger, ctx: Context, done: Done): Passage {
    ctx.reporter = this.#reporter
    const passage = {
      event,
      stages: this.#stages[event.kind],
      ctx,
      done,
      destinations: undefined,
      isOver: false,
    }
    for (const one of passage.stages.front) one.inside++
    this.#inside.add(passage)
    return passage
  }

  /**
   * Runs the `before` and `enrichment` plugins. `done` is called once: within this call if every plugin is synchronous and
   * loaded, otherwise later; not at all if its event is abandoned before.
   */
  run(passage: Passage): void {
    if (passage.event.depth > MAX_DEPTH) {
      const message = 'a plugin tracked this while handling an event that a plugin had tracked'
      return this.#leave(passage, new DeliveryError('plugin', message))
    }
    if (!this.#loader.isLoading) return this.#start(passage)
    // Other work starts the event later, and the event must not run in the asynchronous context of that work.
    const captured = new AsyncResource('Trackpost')
    this.#waiting.push(() => captured.runInAsyncScope(() => this.#start(passage)))
  }

  isFollowed({ stages }: Passage): boolean {
    const { destinations, after, utilities } = stages
    return destinations.length + after.length + utilities.length > 0
  }

  /** Passes the finished event to the destination plugins that its `integrations` do not turn off. */
  distribute(passage: Passage, ctx: Context): Promise<unknown> | undefined {
    const { destinations } = passage.stages
    if (destinations.length === 0) return undefined
    const chosen = destinations.filter((one) => isChosen(one, ctx))
    passage.destinations = all(chosen.map((one) => this.#callAside(one, passage.event, ctx)))
    return passage.destinations
  }

  /**
   * Waits for the destination plugins of the event, then runs the `after` plugins, then the `utility` plugins. Each plugin runs
   * in the asynchronous context of its registration.
   */
  conclude({ event, stages, destinations }: Passage, ctx: Context): Promise<unknown> | undefined {
    const { after, utilities } = stages
    const call = (one: Registration): Promise<unknown> | undefined =>
      one.asyncContext.runInAsyncScope(() => this.#callAside(one, event, ctx))
    let work = destinations
    for (const stage of [after, utilities]) {
      if (stage.length === 0) continue
      work = work === undefined ? all(stage.map(call)) : work.then(() => all(stage.map(call)))
    }
    return work
  }

  /** The client has given these events their outcome: plugins that have not begun with them are not called. */
  abandon(events: readonly Passenger[]): void {
    const abandoned = new Set(events)
    for (const passage of this.#inside) if (abandoned.has(passage.event)) this.#forget(passage)
  }

  /** The client is closed: nothing is waited for any more. */
  close(): void {
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

  #start(passage: Passage): void {
    if (passage.isOver) return
    const missing = this.#loader.missing ?? missingOf(passage)
    if (missing === undefined) return this.#step(passage, 0)
    const message = `the plugin '${missing}' could not be loaded, and no event may go on without it`
    this.#leave(passage, new DeliveryError('plugin', message))
  }

  #step(passage: Passage, from: number): void {
    const { front } = passage.stages
    for (let index = from; index < front.length; index++) {
      const one = front[index] as Registration
      try {
        const result = this.#call(one, passage.event, passage.ctx)
        // Fast path: most handlers return the context that they were given.
        if (result !== passage.ctx && isThenable(result)) return this.#wait(passage, index, result)
        passage.ctx = continueWith(result, passage.ctx, one)
      } catch (error) {
        if (this.#fail(passage, one, error)) return
      }
    }
    this.#leave(passage, undefined)
  }

  #wait(passage: Passage, index: number, result: PromiseLike<unknown>): void {
    const one = passage.stages.front[index] as Registration
    const goOn = (): void => {
      if (!passage.isOver) this.#step(passage, index + 1)
    }
    this.#limits
      .bound(result)
      .then((value) => {
        if (!passage.isOver) passage.ctx = continueWith(value, passage.ctx, one)
      })
      .then(goOn, (error) => {
        if (!passage.isOver && !this.#fail(passage, one, error)) goOn()
      })
  }

  #leave(passage: Passage, error: DeliveryError | undefined): void {
    this.#forget(passage)
    passage.done(error, passage.ctx)
  }

  #forget(passage: Passage): void {
    passage.isOver = true
    if (!this.#inside.delete(passage)) return
    for (const one of passage.stages.front) leave(one)
  }

  /** Returns whether the event has failed: the failure of an `enrichment` plugin is only reported. */
  #fail(passage: Passage, { name, type }: Registration, error: unknown): boolean {
    const { ctx } = passage
    if (type !== 'before') {
      const verb =
        error instanceof UnusableResult ? 'returned something that was ignored' : 'failed and was skipped'
      this.#report(pluginFailure(name, verb, error, ctx))
      return false
    }
    this.#leave(passage, pluginError(name, verbOf(error), error))
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
      const verb = error instanceof Abandoned ? 'was not waited for' : 'failed'
      this.#report(pluginFailure(one.name, verb, error, ctx))
    }
    try {
      const result = this.#call(one, event, ctx)
      if (!isThenable(result)) return undefined
      one.inside++
      return this.#limits
        .bound(result)
        .catch(fail)
        .finally(() => leave(one))
    } catch (error) {
      fail(error)
      return undefined
    }
  }

  #call(one: Registration, event: Passenger, ctx: Context): unknown {
    // Never before its load has ended, after it has failed, or after `deregister` has resolved.
    if (one.state !== 'loaded') return undefined
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

/** A required plugin that the event has entered, and that has failed to load since; it may be deregistered by now. */
function missingOf({ stages }: Passage): string | undefined {
  const isMissing = ({ state, isRequired }: Registration): boolean => state === 'failed' && isRequired
  return (stages.front.find(isMissing) ?? stages.after.find(isMissing))?.name
}

/** An event has left a plugin, which may wait for that to be removed. */
function leave(one: Registration): void {
  if (--one.inside === 0) one.onEmpty()
}

/** What `load` and `unload` track counts as tracked by the program. */
const OUTSIDE: Passenger = { kind: 'track', depth: -1 }

function verbOf(error: unknown): string {
  if (error instanceof ContextCancelation) return 'dropped the event'
  return error instanceof UnusableResult ? 'returned something unusable' : 'failed'
}

function all(work: (Promise<unknown> | undefined)[]): Promise<unknown> | undefined {
  const open = work.filter((one) => one !== undefined)
  return open.length === 0 ? undefined : Promise.all(open)
}

import { guard, warnOnce } from '../errors/guard.ts'
import { AsyncResource } from '../runtime/platform.node.ts'
import type { CapturedContext } from '../runtime/platform.ts'

// biome-ignore lint/suspicious/noExplicitAny: one map holds the listeners of all events
type Listener = (...args: any[]) => unknown

/** Contains no empty lists: `has` tells whether an event has listeners. */
export type Listeners<Events> = Map<keyof Events, readonly Registration[]>

interface Registration {
  readonly listener: Listener
  readonly once: boolean
  /** Another listener may emit the same event while `emit` runs. */
  isSpent: boolean
  /** The asynchronous context in which the listener was added, and in which it runs. */
  readonly asyncContext: CapturedContext
}

/**
 * Typed events with the usual listener methods of Node's `EventEmitter`. There is no limit on listeners. The functions `once` and `on` of `node:events` accept an
 * `Emitter`. If a listener throws or returns a promise that rejects, the error is reported, and the next listener runs. An
 * `error` event without listeners does nothing.
 */
export class Emitter<Events extends { [Name in keyof Events]: unknown[] }> {
  readonly #registrations: Listeners<Events>

  /** @internal */
  constructor(registrations: Listeners<Events> = new Map()) {
    this.#registrations = registrations
  }

  /** Calls `listener` each time `name` is emitted. */
  on<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    return this.#add(name, listener, false)
  }

  /** The same as {@link Emitter.on}. */
  addListener<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    return this.#add(name, listener, false)
  }

  /** Calls `listener` only the next time `name` is emitted. */
  once<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    return this.#add(name, listener, true)
  }

  /** Removes the registration of `listener` that was added last. */
  off<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    const registrations = this.#of(name)
    // Node.js 16 has no findLast.
    const registration = [...registrations].reverse().find((one) => one.listener === listener)
    return registration === undefined ? this : this.#drop(name, registration)
  }

  /** The same as {@link Emitter.off}. */
  removeListener<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    return this.off(name, listener)
  }

  /** Removes all listeners of `name`; without a name, the listeners of all events. */
  removeAllListeners(name?: keyof Events): this {
    if (name === undefined) this.#registrations.clear()
    else this.#registrations.delete(name)
    return this
  }

  /** Calls the listeners of `name` in their order, each in the asynchronous context in which it was added. Never throws. */
  emit(name: keyof Events, ...args: unknown[]): this {
    // A list of registrations is replaced, never changed: listeners may add and remove listeners while this loop runs.
    for (const registration of this.#of(name)) {
      if (registration.isSpent) continue
      if (registration.once) {
        registration.isSpent = true
        this.#drop(name, registration)
      }
      guard(
        () => registration.asyncContext.runInAsyncScope(() => registration.listener(...args)),
        (error, verb) => {
          if (!this.onListenerError(error, name)) warnOnce(`a listener of '${String(name)}'`, error, verb)
        },
      )
    }
    return this
  }

  /** How many listeners `name` has. */
  listenerCount(name: keyof Events): number {
    return this.#of(name).length
  }

  /** The listeners of `name`, in the order in which they are called. */
  listeners(name: keyof Events): Listener[] {
    return this.#of(name).map(({ listener }) => listener)
  }

  /** Returns whether the error was reported. */
  protected onListenerError(_error: unknown, _name: keyof Events): boolean {
    return false
  }

  #of(name: keyof Events): readonly Registration[] {
    return this.#registrations.get(name) ?? NONE
  }

  #add(name: keyof Events, listener: Listener, once: boolean): this {
    if (typeof listener !== 'function') return this
    const registration = { listener, once, isSpent: false, asyncContext: new AsyncResource('Trackpost') }
    return this.#set(name, [...this.#of(name), registration])
  }

  #drop(name: keyof Events, registration: Registration): this {
    return this.#set(
      name,
      this.#of(name).filter((kept) => kept !== registration),
    )
  }

  #set(name: keyof Events, registrations: readonly Registration[]): this {
    if (registrations.length > 0) this.#registrations.set(name, registrations)
    else this.#registrations.delete(name)
    return this
  }
}

/** Emits for this library: a program may have replaced `emit` with a function that throws, and no event may be lost by that. */
export function emit<Events extends { [One in keyof Events]: unknown[] }, Name extends keyof Events>(
  emitter: Emitter<Events>,
  name: Name,
  ...args: Events[Name]
): void {
  guard(
    () => emitter.emit(name, ...args),
    (error, verb) => warnOnce('emit', error, verb),
  )
}

const NONE: readonly Registration[] = []

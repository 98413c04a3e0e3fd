import { guard } from '../errors/guard.ts'

type Listener = (...args: never[]) => unknown

interface Registration {
  readonly listener: Listener
  readonly once: boolean
}

/**
 * Typed events whose listeners cannot hurt anyone: one that throws or returns a promise that rejects is
 * reported and the next one runs. An `error` event without listeners does nothing.
 */
export class Emitter<Events extends { [Name in keyof Events]: unknown[] }> {
  readonly #registrations = new Map<keyof Events, readonly Registration[]>()

  /** Calls `listener` each time `name` is emitted. */
  on<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    return this.#add(name, listener, false)
  }

  /** Calls `listener` the next time `name` is emitted, and not again. */
  once<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    return this.#add(name, listener, true)
  }

  /** Takes `listener` off, as often as it was added. */
  off<Name extends keyof Events>(name: Name, listener: (...args: Events[Name]) => unknown): this {
    const kept = this.#of(name).filter((registration) => registration.listener !== listener)
    return this.#set(name, kept)
  }

  /** Calls the listeners of `name` in the order in which they were added. Never throws. */
  emit<Name extends keyof Events>(name: Name, ...args: Events[Name]): this {
    // A registration list is replaced, never changed: listeners may add and remove while it is walked.
    for (const registration of this.#of(name)) {
      if (registration.once) this.#drop(name, registration)
      guard(() => registration.listener(...(args as unknown as never[])), `a listener of '${String(name)}'`)
    }
    return this
  }

  /** How many listeners `name` has. */
  listenerCount(name: keyof Events): number {
    return this.#of(name).length
  }

  /** Takes all listeners of `name` off, or all there are. */
  removeAllListeners(name?: keyof Events): this {
    if (name === undefined) this.#registrations.clear()
    else this.#registrations.delete(name)
    return this
  }

  #of(name: keyof Events): readonly Registration[] {
    return this.#registrations.get(name) ?? NONE
  }

  #add(name: keyof Events, listener: Listener, once: boolean): this {
    if (typeof listener !== 'function') return this
    return this.#set(name, [...this.#of(name), { listener, once }])
  }

  #drop(name: keyof Events, registration: Registration): void {
    this.#set(
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

const NONE: readonly Registration[] = []

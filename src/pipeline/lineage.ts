import { elementAt } from '../errors/guard.ts'
import type { Clock } from '../runtime/clock.ts'
import { createAsyncLocal } from '../runtime/platform.node.ts'
import type { AsyncLocal } from '../runtime/platform.ts'
import { PLUGIN_TIMEOUT_MS } from './time-limits.ts'

/** A handler at work. */
interface Work {
  readonly depth: number
  /** The event that it handles. */
  readonly subject: object | undefined
}

/** An asynchronous handler at work. */
interface Scope extends Work {
  readonly owner: Lineage
  readonly startedMs: number
  /** The asynchronous handler, of this client or another, that led to this one. */
  readonly outer: Scope | undefined
}

/** One for all clients, made for the first asynchronous handler: programs without one have no cost. */
let scopes: AsyncLocal<Scope> | undefined
let isUnavailable = false

/** Knows which plugins have led to the code that runs now, and which events they handle, also after an `await`. */
export class Lineage {
  readonly #clock: Clock
  /** The handlers that run synchronously now, the innermost last. */
  readonly #running: Work[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** 0 outside all plugins. */
  get depth(): number {
    const innermost = elementAt(this.#running, -1) ?? elementAt(this.#scopes(), 0)
    return innermost === undefined ? 0 : innermost.depth
  }

  /** The events that the code running now is handling; empty outside of plugins. */
  get subjects(): object[] {
    const works: Work[] = [...this.#running, ...this.#scopes()]
    // The innermost handler is in both lists while it is asynchronous and has not returned yet.
    const subjects = new Set(works.map(({ subject }) => subject))
    return [...subjects].filter((subject) => subject !== undefined)
  }

  /** Runs a handler. */
  run<Result>(work: Work, run: () => Result): Result {
    this.#running.push(work)
    try {
      return run()
    } finally {
      this.#running.pop()
    }
  }

  /** Runs an asynchronous handler, and still recognises its code after it has returned. */
  follow<Result>(work: Work, run: () => Result): Result {
    if (scopes === undefined && !isUnavailable) {
      scopes = createAsyncLocal<Scope>()
      isUnavailable = scopes === undefined
    }
    if (scopes === undefined) return run()
    const current = scopes.get()
    const outer = current !== undefined && this.#isAtWork(current) ? current : undefined
    return scopes.run({ owner: this, ...work, startedMs: this.#clock.monotonic(), outer }, run)
  }

  /** The asynchronous handlers of this client that have led here, the innermost first. */
  #scopes(): Scope[] {
    const found: Scope[] = []
    for (let scope = scopes?.get(); scope !== undefined; scope = scope.outer) {
      if (scope.owner === this && this.#isAtWork(scope)) found.push(scope)
    }
    return found
  }

  /** Work that outlives a handler, such as an interval that it started, stops counting as part of it. */
  #isAtWork({ startedMs }: Scope): boolean {
    return this.#clock.monotonic() - startedMs <= PLUGIN_TIMEOUT_MS
  }
}

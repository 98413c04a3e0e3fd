import { elementAt } from '../errors/guard.ts'
import type { Clock } from '../runtime/clock.ts'
import { createAsyncLocal } from '../runtime/platform.node.ts'
import type { AsyncLocal } from '../runtime/platform.ts'
import { PLUGIN_TIMEOUT_MS } from './time-limits.ts'

/** A running handler of a plugin. */
interface Work {
  readonly depth: number
  /** Identifies the event that the handler works on. */
  readonly subject: object | undefined
}

/** A running asynchronous handler. */
interface Scope extends Work {
  readonly owner: Lineage
  readonly startedMs: number
  /** The asynchronous handler, of this client or another client, that led to this handler. */
  readonly outer: Scope | undefined
}

/** Shared by all clients. Made for the first asynchronous handler, so that programs without such handlers have no cost. */
let scopes: AsyncLocal<Scope> | undefined
let isUnavailable = false

/** Tells which running handlers have led to the code that runs now, and which events they handle, also after an `await`. */
export class Lineage {
  readonly #clock: Clock
  /** The handlers that are on the stack now, the innermost last. */
  readonly #running: Work[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many handlers have led to the code that runs now; 0 outside of plugins. */
  get depth(): number {
    const innermost = elementAt(this.#running, -1) ?? elementAt(this.#scopes(), 0)
    return innermost === undefined ? 0 : innermost.depth
  }

  /** The events that the running code is handling; empty outside of plugins. */
  get subjects(): object[] {
    const works: Work[] = [...this.#running, ...this.#scopes()]
    // An asynchronous handler that has not returned yet is in both lists.
    const subjects = new Set(works.map(({ subject }) => subject))
    return [...subjects].filter((subject) => subject !== undefined)
  }

  run<Result>(work: Work, run: () => Result): Result {
    this.#running.push(work)
    try {
      return run()
    } finally {
      this.#running.pop()
    }
  }

  /** Remembers the handler for all code that it starts, also after it has returned its promise. */
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

  /** The asynchronous handlers of this client that have led to the code that runs now, the innermost first. */
  #scopes(): Scope[] {
    const found: Scope[] = []
    for (let scope = scopes?.get(); scope !== undefined; scope = scope.outer) {
      if (scope.owner === this && this.#isAtWork(scope)) found.push(scope)
    }
    return found
  }

  /** After the time limit, a handler no longer counts as running: an interval that it has started may run forever. */
  #isAtWork({ startedMs }: Scope): boolean {
    return this.#clock.monotonic() - startedMs <= PLUGIN_TIMEOUT_MS
  }
}

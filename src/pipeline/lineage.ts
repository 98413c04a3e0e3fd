import { createAsyncLocal } from '../runtime/async-context.node.ts'
import type { AsyncLocal } from '../runtime/async-context.ts'
import type { Clock } from '../runtime/clock.ts'
import { PLUGIN_TIMEOUT_MS } from './time-limits.ts'

/** An asynchronous handler at work. */
interface Scope {
  readonly owner: Lineage
  readonly depth: number
  readonly startedMs: number
  /** The handler, of another client, that led to this one. */
  readonly outer: Scope | undefined
}

/** One for all clients, made for the first asynchronous handler: until then nobody pays for it. */
let scopes: AsyncLocal<Scope> | undefined
let isUnavailable = false

/** Knows how many plugins in a row have led to the code that runs now, synchronously and past each `await`. */
export class Lineage {
  readonly #clock: Clock
  /** That of the handler which runs synchronously now. */
  #depth = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** 0 outside all plugins. */
  get depth(): number {
    if (this.#depth > 0 || scopes === undefined) return this.#depth
    for (let scope = scopes.get(); scope !== undefined; scope = scope.outer) {
      if (scope.owner === this && this.#isAtWork(scope)) return scope.depth
    }
    return 0
  }

  /** Notes that a handler of this depth runs from now on. Returns what {@link leave} needs. */
  enter(depth: number): number {
    const outer = this.#depth
    this.#depth = depth
    return outer
  }

  leave(outer: number): void {
    this.#depth = outer
  }

  /** Runs a handler that goes on after it has returned; what it tracks then is known as well. */
  follow<Result>(depth: number, run: () => Result): Result {
    if (scopes === undefined && !isUnavailable) {
      scopes = createAsyncLocal<Scope>()
      isUnavailable = scopes === undefined
    }
    if (scopes === undefined) return run()
    const current = scopes.get()
    const outer = current !== undefined && this.#isAtWork(current) ? current : undefined
    return scopes.run({ owner: this, depth, startedMs: this.#clock.monotonic(), outer }, run)
  }

  /** What a handler leaves behind, such as an interval that it started, is not part of its work for ever. */
  #isAtWork({ startedMs }: Scope): boolean {
    return this.#clock.monotonic() - startedMs <= PLUGIN_TIMEOUT_MS
  }
}

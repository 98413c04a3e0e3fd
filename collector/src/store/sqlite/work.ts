import { setImmediate as nextTurn } from 'node:timers/promises'
import { systemClock } from '../../clock.ts'

/**
 * A query in pieces: it yields where it may be interrupted, at the latest after some 10 ms.
 *
 * The same query so runs to its end at once for a caller that waits for it, and in turns with others where many share a thread.
 */
export type Work<T> = Generator<undefined, T, undefined>

const SLICE_MS = 8

/** Runs a query to its end. */
export function runNow<T>(work: Work<T>): T {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/**
 * Runs a query so that the thread is never held for long.
 *
 * @throws the reason of the signal, between two pieces, when it is aborted.
 */
export async function runInTurns<T>(work: Work<T>, signal?: AbortSignal): Promise<T> {
  let sliceStart = systemClock.monotonic()
  for (;;) {
    signal?.throwIfAborted()
    const step = work.next()
    if (step.done) return step.value
    if (systemClock.monotonic() - sliceStart < SLICE_MS) continue
    await nextTurn()
    sliceStart = systemClock.monotonic()
  }
}

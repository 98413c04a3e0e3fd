import type { Clock } from './clock.ts'

/** A deadline that comes this late was held up by a stalled process, not by what it bounds. */
const STALL_MS = 1_000

/**
 * Bounds a wait: runs once after `ms`; returns cancel. Where the process was blocked or frozen meanwhile, what is waited for
 * has a second more, once: it may be there already, and runtimes run timers before they read what has come.
 */
export function setDeadline(
  run: () => void,
  ms: number,
  clock: Pick<Clock, 'monotonic' | 'setTimer'>,
): () => void {
  const dueMs = clock.monotonic() + ms
  let cancel = clock.setTimer(() => {
    if (clock.monotonic() - dueMs > STALL_MS) cancel = clock.setTimer(run, STALL_MS)
    else run()
  }, ms)
  return () => cancel()
}

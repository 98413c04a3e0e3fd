import { soon } from './clock.ts'
import { runtimeProcess } from './detect.ts'
import { warn } from './warn.ts'

/** A client that may have events without an outcome. */
export interface Exiting {
  /** Events taken so far. */
  readonly accepted: number
  /**
   * Called when the process has run out of work.
   *
   * @returns Whether the process is kept alive for waiting events.
   */
  onExit(): boolean
  /** Called when the process ends although events wait. */
  onEnd(): void
}

interface Watched {
  // A weak reference, so that the garbage collector can take an unused client. The timers and sockets of a client with
  // events to send keep it in memory.
  readonly reference: WeakRef<Exiting>
  /** How many events it had accepted when the process was last kept alive for it; `undefined` when it was not. */
  keptAt: number | undefined
  /** The process was kept alive for it, and it has accepted no event since. */
  isRepeated: boolean
}

const watched = new Set<Watched>()
let isListening = false

/**
 * Calls `client.onExit()` each time the process runs out of work. All clients share one `beforeExit` listener. It runs only
 * when the event loop is empty, so it does not interfere with signals, exceptions or the exit code.
 *
 * @returns A function that ends this.
 */
export function watchExit(client: Exiting): () => void {
  if (typeof runtimeProcess?.on !== 'function') return () => {}
  const entry: Watched = { reference: new WeakRef(client), keptAt: undefined, isRepeated: false }
  watched.add(entry)
  // A program that makes a client per request would pile up weak references, so dead ones are removed from time to time.
  if (watched.size % SWEEP_EVERY === 0) sweep()
  if (!isListening) {
    isListening = true
    // Before all other listeners, to see which events they track.
    runtimeProcess[runtimeProcess.prependListener ? 'prependListener' : 'on']?.('beforeExit', onBeforeExit)
  }
  return () => {
    watched.delete(entry)
  }
}

function onBeforeExit(): void {
  for (const entry of watched) entry.isRepeated = entry.keptAt === entry.reference.deref()?.accepted
  // Checks once all listeners and their microtasks have run, so that the events that they track are delivered as well.
  soon(() => (runtimeProcess?.nextTick ?? soon)(look))
}

function look(): void {
  for (const entry of [...watched]) {
    const client = entry.reference.deref()
    if (client === undefined) continue
    const { accepted } = client
    // `process.on('beforeExit', () => analytics.track(...))` tracks each time: a process that is kept alive for that would
    // never end.
    const isEndless = entry.isRepeated && accepted !== entry.keptAt
    entry.keptAt = undefined
    if (isEndless) {
      tellOnce()
      runtimeProcess?.on?.('exit', () => entry.reference.deref()?.onEnd())
    } else if (client.onExit()) entry.keptAt = accepted
  }
}

let hasWarned = false

function tellOnce(): void {
  if (hasWarned) return
  hasWarned = true
  warn(
    'exit',
    "a beforeExit listener tracks an event each time it runs: the process is kept alive for that only once, or it would never end; use process.once('beforeExit', ...)",
  )
}

const SWEEP_EVERY = 1_024

function sweep(): void {
  for (const entry of watched) if (entry.reference.deref() === undefined) watched.delete(entry)
}

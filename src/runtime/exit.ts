import { soon } from './clock.ts'
import { runtimeProcess } from './detect.ts'
import { warn } from './warn.ts'

/** A client that may have events without an outcome. */
export interface Exiting {
  readonly accepted: number
  /** Called when the process has run out of work. @returns Whether the process is kept alive for waiting events. */
  onExit(): boolean
  /** Called when the process ends although events may still wait. */
  onEnd(): void
}

interface Watched {
  // A weak reference, so that an unused client can be garbage collected. A client with waiting events is kept in memory by its
  // timers and sockets.
  readonly reference: WeakRef<Exiting>
  /** The value of `accepted` if the last check kept the process alive for the client; otherwise `undefined`. */
  keptAt: number | undefined
  /** Whether the process was kept alive for the client, and the client has accepted no event since. */
  isRepeated: boolean
}

const watched = new Set<Watched>()
let isListening = false

/**
 * Calls `client.onExit()` each time the process runs out of work, until the returned function is called. A `beforeExit`
 * listener runs only when the event loop is empty, so it does not interfere with signals, exceptions or the exit code.
 */
export function watchExit(client: Exiting): () => void {
  if (typeof runtimeProcess?.on !== 'function') return () => {}
  const entry: Watched = { reference: new WeakRef(client), keptAt: undefined, isRepeated: false }
  watched.add(entry)
  // Removes dead references from time to time, in case the program makes a client for each request.
  if (watched.size % SWEEP_EVERY === 0) sweep()
  if (!isListening) {
    isListening = true
    // The listener runs before all other listeners, to see whether they track events.
    runtimeProcess[runtimeProcess.prependListener ? 'prependListener' : 'on']?.('beforeExit', onBeforeExit)
  }
  return () => {
    watched.delete(entry)
  }
}

function onBeforeExit(): void {
  for (const entry of watched) entry.isRepeated = entry.keptAt === entry.reference.deref()?.accepted
  // The check runs after all other listeners and their microtasks, so that the events that they track are delivered too.
  soon(() => (runtimeProcess?.nextTick ?? soon)(look))
}

function look(): void {
  for (const entry of [...watched]) {
    const client = entry.reference.deref()
    if (client === undefined) continue
    const { accepted } = client
    // A listener such as `process.on('beforeExit', () => analytics.track(...))` tracks an event each time. A process that is
    // kept alive for each of these events would never end.
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

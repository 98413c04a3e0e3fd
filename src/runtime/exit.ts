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
   * @returns Whether it is kept for what waits.
   */
  onExit(): boolean
  /** Called when the process ends with events that it was not kept for. */
  onEnd(): void
}

interface Watched {
  // Weakly: a client that is let go must not stay in memory. One that has events to send is held by their timers and sockets.
  readonly reference: WeakRef<Exiting>
  /** How many events it had taken when the process was last kept for it; `undefined` when it was not. */
  keptAt: number | undefined
  /** Nothing was taken since: the process was kept, and nothing else has happened. */
  isRepeated: boolean
}

const watched = new Set<Watched>()
let isListening = false

/**
 * Asks for `client.onExit()` each time the process runs out of work. All clients share one `beforeExit` listener; it runs
 * only when the event loop is empty, so it takes no signal, no exception and no exit code from the host.
 *
 * @returns Ends that.
 */
export function watchExit(client: Exiting): () => void {
  if (typeof runtimeProcess?.on !== 'function') return () => {}
  const entry: Watched = { reference: new WeakRef(client), keptAt: undefined, isRepeated: false }
  watched.add(entry)
  // Programs that make a client per request would pile up references: dead ones are dropped as new ones come.
  if (watched.size % SWEEP_EVERY === 0) sweep()
  if (!isListening) {
    isListening = true
    // First of all listeners, to see what the others track.
    runtimeProcess[runtimeProcess.prependListener ? 'prependListener' : 'on']?.('beforeExit', onBeforeExit)
  }
  return () => {
    watched.delete(entry)
  }
}

function onBeforeExit(): void {
  for (const entry of watched) entry.isRepeated = entry.keptAt === entry.reference.deref()?.accepted
  // Once all listeners have run, and the microtasks that they lead to: what they track is delivered as well.
  soon(() => (runtimeProcess?.nextTick ?? soon)(look))
}

function look(): void {
  for (const entry of [...watched]) {
    const client = entry.reference.deref()
    if (client === undefined) continue
    const { accepted } = client
    // `process.on('beforeExit', () => analytics.track(...))` tracks each time: a process that is kept for it never ends.
    const isEndless = entry.isRepeated && accepted !== entry.keptAt
    entry.keptAt = undefined
    if (isEndless) {
      tellOnce()
      runtimeProcess?.on?.('exit', () => entry.reference.deref()?.onEnd())
    } else if (client.onExit()) entry.keptAt = accepted
  }
}

let hasTold = false

function tellOnce(): void {
  if (hasTold) return
  hasTold = true
  warn(
    'exit',
    "a beforeExit listener tracks each time: the process is kept for that once, or it would never end; use process.once('beforeExit', ...)",
  )
}

const SWEEP_EVERY = 1_024

function sweep(): void {
  for (const entry of watched) if (entry.reference.deref() === undefined) watched.delete(entry)
}

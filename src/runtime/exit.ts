import { runtimeProcess } from './process.ts'

/** A client that may have events without an outcome. */
export interface Exiting {
  /** Called when the process has run out of work. */
  onExit(): void
}

// Weakly: a client that is let go must not stay in memory. One that has events to send is held by their timers and sockets.
const clients = new Set<WeakRef<Exiting>>()
let isListening = false

/**
 * Asks for `client.onExit()` each time the process runs out of work. All clients share one `beforeExit` listener; it runs
 * only when the event loop is empty, so it takes no signal, no exception and no exit code from the host.
 *
 * @returns Ends that.
 */
export function watchExit(client: Exiting): () => void {
  if (typeof runtimeProcess?.on !== 'function') return () => {}
  const reference = new WeakRef(client)
  clients.add(reference)
  // Programs that make a client per request would pile up references: dead ones are dropped as new ones come.
  if (clients.size % SWEEP_EVERY === 0) sweep()
  if (!isListening) {
    isListening = true
    runtimeProcess.on('beforeExit', () => {
      for (const reference of [...clients]) reference.deref()?.onExit()
    })
  }
  return () => {
    clients.delete(reference)
  }
}

const SWEEP_EVERY = 1_024

function sweep(): void {
  for (const reference of clients) if (reference.deref() === undefined) clients.delete(reference)
}

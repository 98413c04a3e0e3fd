import { runtimeProcess } from './process.ts'

/** A client that has events without an outcome. */
export interface Pending {
  /** Called when the process has run out of work. */
  onExit(): void
}

const pending = new Set<Pending>()
let isListening = false

/**
 * Asks for `client.onExit()` when the process runs out of work. All clients share one `beforeExit` listener;
 * it runs only when the event loop is empty, so it takes no signal, no exception and no exit code from the host.
 */
export function watchExit(client: Pending): void {
  pending.add(client)
  if (isListening || typeof runtimeProcess?.on !== 'function') return
  isListening = true
  runtimeProcess.on('beforeExit', () => {
    for (const client of [...pending]) client.onExit()
  })
}

export function unwatchExit(client: Pending): void {
  pending.delete(client)
}

import { soon } from './clock.ts'
import { runtimeProcess } from './detect.ts'
import type { Exiting } from './exit.ts'

/** The clients with pending events: only these are kept in memory. */
const watched = new Set<Exiting>()
let isListening = false
/** Whether the `exit` listener has run, or came too late to be called. */
let isPast = false

/**
 * Called when a client has pending events.
 *
 * @returns Whether the process exits and nobody will call `onExit`: the caller must. Before that, a program may go on tracking in
 * its `exit` listeners. Node.js sets `_exiting` before the first of them.
 */
export function watchExit(client: Exiting): boolean {
  watched.add(client)
  return isPast && runtimeProcess?._exiting === true
}

export function unwatchExit(client: Exiting): void {
  watched.delete(client)
}

/**
 * Called when a client is made: a listener of the program may track the first event when the process runs out of work. A
 * `beforeExit` listener runs only when the event loop is empty, so it does not interfere with signals, exceptions or the exit code.
 */
export function listenToExit(): void {
  if (isListening || typeof runtimeProcess?.on !== 'function') return
  isListening = true
  isPast = runtimeProcess._exiting === true
  // After all other listeners and their microtasks, so that the events that they track are delivered too.
  runtimeProcess.on('beforeExit', () => soon(() => (runtimeProcess?.nextTick ?? soon)(idle)))
  runtimeProcess.on('exit', () => {
    isPast = true
    for (const client of [...watched]) client.onExit()
  })
}

function idle(): void {
  for (const client of [...watched]) client.onIdle()
}

import { soon } from './clock.ts'
import { runtimeProcess } from './detect.ts'
import type { Exiting } from './exit.ts'
import { warn } from './warn.ts'

/** The clients with pending events: only these are kept in memory. */
const watched = new Set<Exiting>()
let isListening = false
let hasEnded = false
// A `beforeExit` listener runs only when the event loop is empty, so it does not interfere with signals, exceptions or the exit
// code.

/** Called when a client has pending events. */
export function watchExit(client: Exiting): void {
  watched.add(client)
}

/** Called when a client is made: a listener of the program may track the first event when the process runs out of work. */
export function listenToExit(): void {
  if (isListening || typeof runtimeProcess?.on !== 'function') return
  isListening = true
  // The listener runs before all other listeners, to see whether they track events.
  runtimeProcess[runtimeProcess.prependListener ? 'prependListener' : 'on']?.('beforeExit', onBeforeExit)
  runtimeProcess.on('exit', () => {
    hasEnded = true
    for (const one of [...watched]) one.onEnd()
  })
}

/** Whether the `exit` listeners run: later ones may still track events, but no timer or microtask runs any more. */
export function isEnding(): boolean {
  return hasEnded
}

export function unwatchExit(client: Exiting): void {
  watched.delete(client)
}

function onBeforeExit(): void {
  // Also clients without events now: a listener may be about to track one.
  for (const client of kept) client.isRepeated = client.keptAt === client.accepted
  // The check runs after all other listeners and their microtasks, so that the events that they track are delivered too.
  soon(() => (runtimeProcess?.nextTick ?? soon)(look))
}

/** The clients for which the last check kept the process alive. */
let kept: Exiting[] = []

function look(): void {
  const before = kept
  kept = []
  for (const client of [...watched]) {
    // A listener such as `process.on('beforeExit', () => analytics.track(...))` tracks an event each time. A process that is
    // kept alive for each of these events would never end.
    const isEndless = before.includes(client) && client.isRepeated && client.accepted !== client.keptAt
    client.keptAt = undefined
    if (isEndless) tellOnce()
    else if (client.onExit()) {
      client.keptAt = client.accepted
      kept.push(client)
    }
  }
}

let hasWarned = false

function tellOnce(): void {
  if (hasWarned) return
  hasWarned = true
  warn(
    'exit',
    "a beforeExit listener tracks an event each time it runs, which keeps the process alive only once; use process.once('beforeExit', ...)",
  )
}

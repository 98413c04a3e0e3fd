import { constants } from 'node:os'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof ENDING)[number]

/** The signals that ask a process to end. */
export interface Signals {
  /** The first one after the start. */
  signalled: Promise<EndSignal>
  /** Call when the collector has started, and has work to finish from then on. */
  hasStarted(): void
}

/**
 * Waits for signals that ask the process to end. The second signal ends it at once, and so does any signal before `hasStarted`
 * is called. During the start, the listener is needed only in containers: there, a signal without a listener does not end the
 * first process, so the signal would be lost.
 */
export function watchSignals(): Signals {
  let isStarting = true
  let isAsked = false
  const signalled = new Promise<EndSignal>((resolve) => {
    for (const signal of ENDING) {
      process.on(signal, () => {
        if (isAsked || isStarting) endNow(signal)
        isAsked = true
        resolve(signal)
      })
    }
  })
  return {
    signalled,
    hasStarted() {
      isStarting = false
    },
  }
}

/** Ends the process at once, whatever it is doing. */
export function endNow(signal: EndSignal): void {
  // Sends itself the signal. `process.exit` would first end the threads, and one that is inside the database may then abort the
  // process.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // In a container, the signal does not end the first process (PID 1).
  process.exit(128 + constants.signals[signal])
}

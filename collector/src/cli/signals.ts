import { constants } from 'node:os'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof ENDING)[number]

/** The signals that ask a process to end. */
export interface Signals {
  /** The first one after the start. */
  signalled: Promise<EndSignal>
  /** Call when the collector has started, so has work to finish. */
  hasStarted(): void
}

/**
 * Waits for signals that ask the process to end. The second one ends it at once, and so does each until `hasStarted` is called.
 * During the start, a listener is needed for containers only: there, signals without a listener do not end the first process, so
 * the start would go on and the signal would be lost.
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
  // In a container, that does not end the first process.
  process.exit(128 + constants.signals[signal])
}

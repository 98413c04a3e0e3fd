import { constants } from 'node:os'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof ENDING)[number]

export interface Signals {
  /** Resolves with the first signal after the start. */
  signalled: Promise<EndSignal>
  /** Call this when the collector has started, and has work to finish before it ends. */
  hasStarted(): void
}

/**
 * The first signal after `hasStarted` is only reported. A second signal, or any signal before `hasStarted`, ends the process at
 * once. Before `hasStarted`, only containers need the listener: there, a signal without a listener would not end the first
 * process (PID 1).
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

export function endNow(signal: EndSignal): void {
  // `process.exit` would first end the threads, and a thread that is inside the database may then abort the process.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // Reached in a container, where the signal does not end the first process (PID 1).
  process.exit(128 + constants.signals[signal])
}

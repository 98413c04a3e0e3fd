import { constants } from 'node:os'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof ENDING)[number]

/** The signals that ask a process to end. */
export interface Signals {
  /** The first one after the start. */
  signalled: Promise<EndSignal>
  /** From now on the process has something to finish. */
  hasStarted(): void
}

/**
 * Waits for signals that ask the process to end. The second one ends it at once, whatever goes on: somebody does not want to wait.
 * So does each until `hasStarted` is called. Without a listener that would be so everywhere but in a container, where the first
 * process is spared such signals: the start would go on, and nobody would remember that the end was asked for.
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

/** Ends the process, whatever keeps it. */
export function endNow(signal: EndSignal): void {
  // By the signal itself: an exit would first end the threads, and one that is in the database then may abort the process.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container is not ended by that.
  process.exit(128 + constants.signals[signal])
}

import { constants } from 'node:os'

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
export type EndSignal = (typeof ENDING)[number]

/**
 * Resolves with the first signal that asks the process to end. The second one ends it at once, whatever goes on: somebody does
 * not want to wait.
 */
export function firstSignal(): Promise<EndSignal> {
  return new Promise((resolve) => {
    let isAsked = false
    for (const signal of ENDING) {
      process.on(signal, () => {
        if (isAsked) endNow(signal)
        isAsked = true
        resolve(signal)
      })
    }
  })
}

/** Ends the process, whatever keeps it. */
export function endNow(signal: EndSignal): void {
  // By the signal itself: an exit would first end the threads, and one that is in the database then may abort the process.
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  // The first process of a container is not ended by that.
  process.exit(128 + constants.signals[signal])
}

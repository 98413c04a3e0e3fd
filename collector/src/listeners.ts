/** Listeners for faults of the collector and for recoveries from them. The listeners never throw. */
export interface Listeners {
  onFault(what: string, cause: unknown): void
  /**
   * Called when a part works again. Gets a message and the fault that has ended, for example "the store is back" and "the store
   * is unavailable".
   */
  onRecovery(what: string, fault: string): void
}

/**
 * Makes the listeners of the options safe: an error of a listener becomes a process warning. Without this, a listener that
 * fails, perhaps because it cannot write a log line, would end the process.
 */
export function listenersOf({ onFault, onRecovery }: Partial<Listeners>): Listeners {
  return { onFault: safe('onFault', onFault), onRecovery: safe('onRecovery', onRecovery) }
}

function safe<Given extends unknown[]>(
  name: string,
  listener: ((...given: Given) => unknown) | undefined,
): (...given: Given) => void {
  const warn = (cause: unknown) => {
    const said = cause instanceof Error ? cause.message : String(cause)
    process.emitWarning(`${name} of the collector threw: ${said}`, 'TrackpostCollectorWarning')
  }
  return (...given) => {
    try {
      Promise.resolve(listener?.(...given)).catch(warn)
    } catch (cause) {
      warn(cause)
    }
  }
}

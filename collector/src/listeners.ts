/** Listeners for faults and recoveries of the collector. They never throw. */
export interface Listeners {
  onFault(what: string, cause: unknown): void
  /**
   * Called when a part is back, with a message and the fault that is over, for example "the store is back" and "the store is
   * unavailable".
   */
  onRecovery(what: string, fault: string): void
}

/**
 * Makes the listeners of the options safe. Otherwise, a listener that throws or rejects, perhaps only because it cannot log a
 * line, would end a watch or the process. Its error becomes a process warning.
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

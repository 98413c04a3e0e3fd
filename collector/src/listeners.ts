/** These listeners never throw, because `listenersOf` makes them safe. */
export interface Listeners {
  onFault(what: string, cause: unknown): void
  /** Called when a part works again, for example with "the store is back" and "the store is unavailable". */
  onRecovery(what: string, fault: string): void
}

/** Turns an error of a listener into a process warning. Otherwise, an error in a listener would end the process. */
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

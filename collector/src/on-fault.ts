/** Reports a fault inside the collector. Never throws. */
export type OnFault = (what: string, cause: unknown) => void

/** Turns an error of a listener into a process warning. Otherwise, an error in a listener would end the process. */
export function safeOnFault(listener: ((what: string, cause: unknown) => unknown) | undefined): OnFault {
  const warn = (cause: unknown) => {
    const said = cause instanceof Error ? cause.message : String(cause)
    process.emitWarning(`onFault of the collector threw: ${said}`, 'TrackpostCollectorWarning')
  }
  return (...given) => {
    try {
      Promise.resolve(listener?.(...given)).catch(warn)
    } catch (cause) {
      warn(cause)
    }
  }
}

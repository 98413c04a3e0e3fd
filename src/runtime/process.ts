/** The runtime's `process`, where there is one. Looked up on the global: edge runtimes have none. */
type ProcessLike = {
  pid?: number
  env?: Record<string, string | undefined>
  versions?: Record<string, string | undefined>
  emitWarning?: (message: string, options: { type: string; code: string }) => void
  on?: (event: 'beforeExit' | 'exit', listener: () => void) => unknown
  prependListener?: (event: 'beforeExit', listener: () => void) => unknown
  nextTick?: (run: () => void) => void
}

export const runtimeProcess: ProcessLike | undefined = (globalThis as { process?: ProcessLike }).process

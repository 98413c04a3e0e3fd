/**
 * What differs between production and a test: the clocks, chance and timers. Made once at the top and
 * handed down; nothing else reads a clock, draws a number or sets a timer.
 */
export interface Host {
  /** Milliseconds since the epoch. May jump. */
  now(): number
  /** Milliseconds since an arbitrary moment. Never goes back. */
  monotonic(): number
  /** A number in [0, 1). For jitter only, never for identifiers. */
  random(): number
  /**
   * Runs once after `ms` (at most 2^31 - 1); returns cancel. Never keeps the process alive: what waits for
   * an outcome holds it with {@link Host.hold}.
   */
  setTimer(run: () => void, ms: number): () => void
  /** Keeps the process alive until the returned function is called. */
  hold(): () => void
}

/** The longest delay that a timer takes: beyond it, runtimes fire at once. */
export const MAX_TIMER_MS = 2_147_483_647

type Timer = { unref?: () => void }

/** The real host. Globals are looked up at each call, so that patched clocks and timers are respected. */
export const systemHost: Host = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  random: () => Math.random(),
  setTimer(run, ms) {
    const timer = setTimeout(run, Math.min(ms, MAX_TIMER_MS))
    ;(timer as Timer).unref?.()
    return () => clearTimeout(timer)
  },
  hold() {
    const timer = setTimeout(() => {}, MAX_TIMER_MS)
    return () => clearTimeout(timer)
  },
}

/** The runtime's `process`, where there is one. Looked up on the global: edge runtimes have none. */
type ProcessLike = {
  versions?: Record<string, string | undefined>
  emitWarning?: (message: string, options: { type: string; code: string }) => void
  on?: (event: 'beforeExit', listener: () => void) => unknown
}

export const runtimeProcess: ProcessLike | undefined = (globalThis as { process?: ProcessLike }).process

/** Everything that could forge a line of a log, or colour it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const CONTROLS = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/g

/**
 * Tells the developer once, on the channel that the runtime has for warnings. Control characters are
 * escaped: names and reasons come from elsewhere. Never throws.
 */
export function warn(code: string, text: string): void {
  const message = text.replace(CONTROLS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
  try {
    if (typeof runtimeProcess?.emitWarning === 'function') {
      runtimeProcess.emitWarning(message, {
        type: 'TrackpostWarning',
        code: `TRACKPOST_${code.toUpperCase()}`,
      })
    } else {
      console.warn(`trackpost: ${message}`)
    }
  } catch {
    // A host that replaces its console or emitWarning with something that throws must not lose events by it.
  }
}

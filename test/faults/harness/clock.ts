/**
 * Preloaded into every host process: counts the timers that are set through the globals, and makes time
 * faster for code that reads the globals at each call, as the SDK does.
 */
export interface RealClock {
  setTimeout: typeof setTimeout
  clearTimeout: typeof clearTimeout
  now(): number
  /**
   * The timers that have neither fired nor been cancelled, unreferenced ones included: their delay, and where
   * they were set.
   */
  liveTimers(): string[]
  /** The number of timers with a delay beyond the limit of runtimes. */
  overflows(): number
  /** The timers that the SDK has set so far, in order. */
  timers(): AskedTimer[]
  /** Holds back timers of `ms` that are set from now on; the returned function fires them. */
  holdBack(ms: number): () => void
  scale: number
}

/** A timer that the SDK set, with the delay that it asked for, however late it fired. */
export interface AskedTimer {
  /** In the time of the SDK. */
  ms: number
  /** How many timers of the SDK fired before this one; absent when it did not fire. */
  firedAs?: number
}

const scale = Number(process.env['FAULTS_SCALE'] ?? 1)
const realSetTimeout = globalThis.setTimeout
const realClearTimeout = globalThis.clearTimeout
const realDateNow = Date.now.bind(Date)
const realPerformanceNow = performance.now.bind(performance)
const startDateMs = realDateNow()
const startMs = realPerformanceNow()
const live = new Map<unknown, string>()
let overflows = 0
let fired = 0
const asked: AskedTimer[] = []
const MAX_ASKED = 20_000
const heldBack = new Map<number, Set<() => void>>()

const patched = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
  if (ms > 2_147_483_647 || Number.isNaN(ms)) overflows++
  const one: AskedTimer = { ms }
  const held = heldBack.get(ms)
  const fire = (): void => {
    if (!live.delete(timer) && held !== undefined) return
    one.firedAs = fired++
    run(...args)
  }
  // A timer that is held back is still a timer: it is live until it fires or is cancelled.
  const timer = realSetTimeout(held === undefined ? fire : () => {}, ms / scale)
  held?.add(fire)
  // The built-in fetch also reads the globals; its timers do not belong to the SDK.
  const caller = new Error('caller').stack?.split('\n')[2] ?? ''
  if (!caller.includes('node:internal')) live.set(timer, `${ms} ms ${caller.trim()}`)
  if (caller.includes('/dist/') && asked.length < MAX_ASKED) asked.push(one)
  return timer
}
globalThis.setTimeout = Object.assign(patched, realSetTimeout) as unknown as typeof setTimeout
globalThis.clearTimeout = ((timer: NodeJS.Timeout) => {
  live.delete(timer)
  realClearTimeout(timer)
}) as typeof clearTimeout
if (scale !== 1) {
  performance.now = () => startMs + (realPerformanceNow() - startMs) * scale
  Date.now = () => Math.floor(startDateMs + (realPerformanceNow() - startMs) * scale)
}

const real: RealClock = {
  setTimeout: realSetTimeout,
  clearTimeout: realClearTimeout,
  now: realPerformanceNow,
  liveTimers: () => [...live.values()],
  overflows: () => overflows,
  timers: () => asked,
  holdBack(ms) {
    const held = new Set<() => void>()
    heldBack.set(ms, held)
    return () => {
      heldBack.delete(ms)
      for (const fire of held) fire()
    }
  },
  scale,
}
Object.defineProperty(globalThis, Symbol.for('trackpost.faults.clock'), { value: real })

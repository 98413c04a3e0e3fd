/**
 * Preloaded into every host process. Records the timers that are set through the globals, and makes time faster for
 * code that reads the globals at each call, as the SDK does.
 */
export interface RealClock {
  setTimeout: typeof setTimeout
  clearTimeout: typeof clearTimeout
  now(): number
  /**
   * The delay of each timer that has neither fired nor been cancelled, and the line that set it. Includes timers
   * after `unref()`.
   */
  liveTimers(): string[]
  /** The number of timers whose delay was NaN or above 2,147,483,647 ms, the maximum of runtimes. */
  overflows(): number
  /** The timers that the SDK has set so far, in order. */
  timers(): AskedTimer[]
  scale: number
}

export interface AskedTimer {
  /** The delay that the SDK asked for, in ms of its clock, which may run faster than real time. */
  ms: number
  /** How many timers fired before this timer. Absent if this timer did not fire. */
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

const patched = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
  if (ms > 2_147_483_647 || Number.isNaN(ms)) overflows++
  const one: AskedTimer = { ms }
  const timer = realSetTimeout(() => {
    live.delete(timer)
    one.firedAs = fired++
    run(...args)
  }, ms / scale)
  // The built-in `fetch` also sets timers through the globals. These do not count as the SDK's.
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
  scale,
}
Object.defineProperty(globalThis, Symbol.for('trackpost.faults.clock'), { value: real })

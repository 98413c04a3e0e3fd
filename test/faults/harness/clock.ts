/**
 * Preloaded into every host process: counts the timers that are set through the globals, and lets time run
 * faster for whoever looks the globals up, which the SDK does at each call.
 */
export interface RealClock {
  setTimeout: typeof setTimeout
  clearTimeout: typeof clearTimeout
  now(): number
  /** Timers that were set and neither ran nor were cancelled, unreferenced ones included. */
  liveTimers(): number
  /** Timers whose delay no runtime can keep. */
  overflows(): number
  /** What the SDK asked for so far, in the order in which it did. */
  timers(): AskedTimer[]
  scale: number
}

/** A timer that the SDK set: what it asked for, whenever the machine came to it. */
export interface AskedTimer {
  /** In the SDK's time. */
  ms: number
  hasFired: boolean
}

const scale = Number(process.env['FAULTS_SCALE'] ?? 1)
const realSetTimeout = globalThis.setTimeout
const realClearTimeout = globalThis.clearTimeout
const realDateNow = Date.now.bind(Date)
const realPerformanceNow = performance.now.bind(performance)
const startDateMs = realDateNow()
const startMs = realPerformanceNow()
const live = new Set<unknown>()
let overflows = 0
const asked: AskedTimer[] = []
const MAX_ASKED = 20_000

const patched = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): NodeJS.Timeout => {
  if (ms > 2_147_483_647 || Number.isNaN(ms)) overflows++
  const one: AskedTimer = { ms, hasFired: false }
  const timer = realSetTimeout(() => {
    live.delete(timer)
    one.hasFired = true
    run(...args)
  }, ms / scale)
  // The runtime's own fetch looks the globals up as well; its timers are not the SDK's.
  const caller = new Error('caller').stack?.split('\n')[2] ?? ''
  if (!caller.includes('node:internal')) live.add(timer)
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
  liveTimers: () => live.size,
  overflows: () => overflows,
  timers: () => asked,
  scale,
}
Object.defineProperty(globalThis, Symbol.for('trackpost.faults.clock'), { value: real })

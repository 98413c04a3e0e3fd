/**
 * Preloaded into every host process: counts the timers that are set through the globals, and lets time run
 * faster for whoever looks the globals up, which the SDK does at each call.
 */
export interface RealClock {
  setTimeout: typeof setTimeout
  clearTimeout: typeof clearTimeout
  now(): number
  /** Who set the timers that neither ran nor were cancelled, unreferenced ones included: delay and place. */
  liveTimers(): string[]
  /** Timers whose delay no runtime can keep. */
  overflows(): number
  /** The timers that the SDK has set so far, in order. */
  timers(): AskedTimer[]
  /** Timers of `ms` that are set from now on do not run before the returned function is called, which runs them. */
  holdBack(ms: number): () => void
  scale: number
}

/** A timer that the SDK set: what it asked for, whenever the machine came to it. */
export interface AskedTimer {
  /** In the SDK's time. */
  ms: number
  /** How many timers of the SDK ran before this one; absent when it did not run. */
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
  // One that is held back still is a timer: it can be cancelled, and is live until it is.
  const timer = realSetTimeout(held === undefined ? fire : () => {}, ms / scale)
  held?.add(fire)
  // The runtime's own fetch looks the globals up as well; its timers are not the SDK's.
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

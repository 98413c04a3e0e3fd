/** The messages between the test and the host process. */
import type { inspect } from 'node:util'
import type * as trackpost from '../../../src/index.ts'
import type { AskedTimer } from './clock.ts'

type Package = typeof trackpost
type Client = trackpost.Analytics
type Settings = trackpost.AnalyticsSettings

/** The outcomes of a generated event: 0 = none yet, 1 = delivered, 2 and more = failed with a code. */
export const OUTCOMES = [
  'none',
  'delivered',
  'invalid',
  'unserializable',
  'too_large',
  'queue_full',
  'plugin',
  'closed',
  'rejected',
  'auth',
  'retries_exhausted',
  'deadline',
  'shutdown_timeout',
] as const

export interface Job {
  program: string
  args: unknown
  settings: Settings
  run: string
  packageFile: string
  format: 'esm' | 'cjs'
  reportFile: string
  canaries: string[]
  /** No callbacks: nobody waits for the events, and listeners get their outcomes. */
  forgets?: boolean
}

export interface CloseRecord {
  ms: number
  /** The close had a timeout, and a timer that was 100 ms longer fired first. */
  isLate: boolean
  summary: trackpost.FlushSummary
  /** Generated events that had no outcome when the close resolved. */
  withoutOutcome: number
  stats: trackpost.Stats
}

export interface HostReport {
  result: unknown
  /** The error that the program threw. */
  thrown: string | undefined
  warnings: { name: string; code: string; message: string }[]
  uncaught: string[]
  /** The number of events that the program tracked through the tools. */
  tracked: number
  outcomes: string
  byOutcome: Record<string, number>
  /** Callbacks that were called a second time, or within the call itself. */
  repeatedOutcomes: number
  prematureOutcomes: number
  /** `error` events by the code of their reason. */
  errors: Record<string, number>
  /** Messages of the first errors. */
  messages: string[]
  /** Statuses of the errors. */
  statuses: Record<string, number>
  stats: trackpost.Stats | undefined
  /** How often accepted = delivered + failed + pending did not hold. */
  imbalances: number
  closes: CloseRecord[]
  rssStartBytes: number
  rssMaxBytes: number
  loopP999Ms: number
  loopMaxMs: number
  /**
   * The resources that kept the event loop alive 1 s after the end of the program, without those from before
   * its start.
   */
  leftResources: string[]
  leftTimers: string[]
  timerOverflows: number
  /** The timers that the SDK set, in order: the delays that it asked for do not depend on the machine. */
  timers: AskedTimer[]
  /** Listeners on `process` at the end in addition to those at the start. */
  addedListeners: string[]
  /** The places where a secret appeared. */
  leaks: string[]
  longestCallMs: number
  /** From the start of the process to its end, in real time. */
  lifeMs: number
  checkedResources: boolean
}

/** The tools for a program. */
export interface Tools<Args = unknown> {
  readonly pkg: Package
  readonly args: Args
  readonly settings: Settings
  readonly report: HostReport
  /** A client with the settings of the row, whose outcomes are recorded. */
  create(overrides?: Partial<Settings> & Record<string, unknown>): Client
  /** Makes the counts include a client that the program created itself; adds no listeners to it. */
  watch(client: Client): void
  /** Tracks the generated event `n` and records its outcome. */
  track(client: Client, n: number, bytes?: number): void
  /** Tracks the events `from` to `to - 1`, `perTurn` in each turn of the event loop. */
  trackAll(client: Client, from: number, to: number, bytes?: number, perTurn?: number): Promise<void>
  /** The same, spread evenly over `ms` of real time. */
  trackFor(client: Client, from: number, to: number, ms: number, bytes?: number): Promise<void>
  /** Waits in real time, whatever the scale. */
  sleep(ms: number): Promise<void>
  now(): number
  turn(): Promise<void>
  until(condition: () => boolean, ms: number): Promise<boolean>
  close(client: Client, options?: { timeout?: number }): Promise<CloseRecord>
  /**
   * Whether `promise` settles before a timer of `ms` that starts now. Timers of one process fire in the order
   * in which they are due, however busy the machine is.
   */
  isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean>
  /** Holds back timers of `ms` that are set from now on; the returned function fires them. */
  holdBack(ms: number): () => void
  outcome(n: number): string
  countOf(outcome: string): number
  /** Restarts the measurement of the event-loop delay. Returns the previous result, in milliseconds. */
  restartLoopDelay(): { p99Ms: number; p999Ms: number }
  inspect: typeof inspect
  canaries: readonly string[]
}

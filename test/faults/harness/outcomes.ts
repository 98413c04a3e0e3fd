/** The messages between the test and the host process. */
import { FAILURE_CODES } from '../../../src/errors/errors.ts'
import type * as trackpost from '../../../src/index.ts'
import type { AskedTimer } from './clock.ts'

type Package = typeof trackpost
type Client = trackpost.Analytics
type Settings = trackpost.AnalyticsSettings

/**
 * The outcomes of an event. An outcome is reported as its index: 0 = none yet, 1 = delivered, 2 and more = failed
 * with the code.
 */
export const OUTCOMES = ['none', 'delivered', ...FAILURE_CODES] as const

export interface Job {
  program: string
  args: unknown
  settings: Settings
  run: string
  packageFile: string
  format: 'esm' | 'cjs'
  reportFile: string
  canaries: string[]
  /** Tracks without callbacks, so that nothing waits for the events. Listeners get their outcomes. */
  forgets?: boolean
}

export interface HostReport {
  result: unknown
  thrown: string | undefined
  warnings: { name: string; code: string; message: string }[]
  uncaught: string[]
  /** The number of events that the program tracked by `Tools.track` and similar tools. */
  tracked: number
  outcomes: string
  byOutcome: Record<string, number>
  /** Callbacks that ran a second time. `prematureOutcomes` counts callbacks that ran within the call. */
  repeatedOutcomes: number
  prematureOutcomes: number
  /** `error` events by the code of their reason. */
  errors: Record<string, number>
  /** Messages of the first errors. */
  messages: string[]
  stats: trackpost.Stats | undefined
  /** How often accepted = delivered + failed + pending did not hold. */
  imbalances: number
  /** For each close, the number of events that had no outcome when it resolved. */
  closes: { withoutOutcome: number }[]
  rssStartBytes: number
  rssMaxBytes: number
  /** New resources that keep the event loop alive 1 s after the end of the program. */
  leftResources: string[]
  leftTimers: string[]
  timerOverflows: number
  /** The timers that the SDK set, in order. The delays that it asks for do not depend on the speed of the machine. */
  timers: AskedTimer[]
  /** Events of `process` that have more listeners at the end than at the start. */
  addedListeners: string[]
  /** The places where a secret appeared. */
  leaks: string[]
  /** From the start of the process to its end, in real time. */
  lifeMs: number
  checkedResources: boolean
}

export interface Tools<Args = unknown> {
  readonly pkg: Package
  readonly args: Args
  readonly settings: Settings
  readonly report: HostReport
  /** Creates a client with the settings of the row (`HostSetup.settings`), and records the outcomes of its events. */
  create(overrides?: Partial<Settings> & Record<string, unknown>): Client
  /** Adds to the report the counts of a client that the program created itself. Adds no listeners to the client. */
  watch(client: Client): void
  /** Tracks event `n`, whose content payload.ts generates, and records its outcome. */
  track(client: Client, n: number, bytes?: number): void
  /** Tracks the events `from` to `to - 1`, `perTurn` in each turn of the event loop. */
  trackAll(client: Client, from: number, to: number, bytes?: number, perTurn?: number): Promise<void>
  /** Tracks the events `from` to `to - 1`, spread evenly over `ms` of real time. */
  trackFor(client: Client, from: number, to: number, ms: number, bytes?: number): Promise<void>
  /** Waits `ms` of real time, even when the SDK's clock runs faster (`HostSetup.scale`). */
  sleep(ms: number): Promise<void>
  now(): number
  turn(): Promise<void>
  until(condition: () => boolean, ms: number): Promise<boolean>
  close(client: Client, options?: { timeout?: number }): Promise<void>
  countOf(outcome: string): number
}

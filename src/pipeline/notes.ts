/** How serious a note is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** One note that a plugin left with an event. */
export interface LogEntry {
  /** How serious it is. */
  readonly level: LogLevel
  /** The text that the plugin passed. */
  readonly message: string
  /** When the note was made. */
  readonly time: Date
  /** Additional data from the plugin. */
  readonly extras: Record<string, unknown> | undefined
}

/** One measurement that a plugin left with an event. */
export interface Metric {
  /** The name of what was measured. */
  readonly metric: string
  /** The increment of a counter, or the value of a gauge. */
  readonly value: number
  /** The values of a `counter` are added up; for a `gauge`, the latest value is valid. */
  readonly type: 'counter' | 'gauge'
  /** Labels, as the plugin passed them. */
  readonly tags: readonly string[]
  /** When it was measured, in milliseconds since the epoch. */
  readonly timestamp: number
}

/** Limits the notes, and the measurements, of an event, because the program may never read them. */
const MAX_ENTRIES = 1_000

/** The notes on one event. The first 1,000 notes are kept; later notes are ignored. */
export class ContextLogger {
  /** The notes, oldest first. */
  readonly logs: readonly LogEntry[] = []

  /** Keeps a note. */
  log(level: LogLevel, message: string, extras?: Record<string, unknown>): void {
    push(this.logs, { level, message, time: new Date(), extras })
  }
}

/** The measurements on one event. The first 1,000 measurements are kept; later measurements are ignored. */
export class ContextStats {
  /** The measurements, oldest first. */
  readonly metrics: readonly Metric[] = []

  /** Adds `by` (default 1) to a counter. */
  increment(metric: string, by = 1, tags: readonly string[] = []): void {
    push(this.metrics, { metric, value: by, type: 'counter', tags, timestamp: Date.now() })
  }

  /** Records the current value of a gauge. */
  gauge(metric: string, value: number, tags: readonly string[] = []): void {
    push(this.metrics, { metric, value, type: 'gauge', tags, timestamp: Date.now() })
  }
}

function push<Entry>(entries: readonly Entry[], entry: Entry): void {
  if (entries.length < MAX_ENTRIES) (entries as Entry[]).push(entry)
}

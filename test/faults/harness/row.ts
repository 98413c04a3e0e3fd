/** Runs rows of docs/faults.md as tests, and writes the lines of the table that `run.mjs` prints at the end. */
import { appendFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'

/** The default form leaves out these rows: their fault takes seconds of real time even with a faster clock. */
const FULL_ROWS = [
  ...['F03', 'F06', 'F07', 'F08', 'F09', 'F10', 'F11', 'F13', 'F14', 'F15', 'F16', 'F20', 'F29'],
  ...['F48', 'F49', 'F78', 'F79', 'F85', 'F103'],
]

export interface Line {
  row: string
  title: string
  injected: string
  times: number
  outcome: string
  ms: number
  isPassed: boolean
  /** Set on the line that is written when the row begins. A row that hangs has no other line. */
  isStart?: boolean
}

export interface Row {
  /**
   * Adds to the count of injected faults. If the count stays below `least`, the row counts as not run and fails
   * (docs/faults.md, section 1.0, rule 6).
   */
  injected(times: number, least?: number): void
  /** Records that a part of the row does not hold, and why. The row still passes, and the table shows the reason. */
  doesNotHold(reason: string): void
  /** Adds a figure to the table. */
  note(text: string): void
}

const file = process.env['FAULTS_LINES']

function print(line: Line): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}

interface RowOptions {
  timeoutMs?: number
}

/**
 * Defines the test of a row. `id` is a row of docs/faults.md, a section of docs/spec.md (`8.1`), or a run without faults
 * (`H05`). `injected` describes the fault, `title` the required result.
 */
export function row(
  id: string,
  injected: string,
  title: string,
  body: (row: Row) => Promise<void>,
  { timeoutMs = 60_000 }: RowOptions = {},
): void {
  if (TIER !== 'full' && FULL_ROWS.includes(id) !== (TIER === 'rest')) return
  test.concurrent(
    `${id} ${injected}: ${title}`,
    async () => {
      const startMs = performance.now()
      const outcome = 'FAILED: it did not end'
      print({ row: id, title, injected, times: 0, outcome, isPassed: false, ms: timeoutMs, isStart: true })
      const notes: string[] = []
      let times = 0
      let least = 1
      let hasCounted = false
      const finish = (outcome: string, isPassed: boolean): void =>
        print({
          row: id,
          title,
          injected,
          times,
          outcome,
          isPassed,
          ms: Math.ceil(performance.now() - startMs),
        })
      try {
        await body({
          injected: (count, atLeast = 1) => {
            times += count
            least = atLeast
            hasCounted = true
          },
          doesNotHold: (reason) => notes.push(`DOES NOT HOLD: ${reason}`),
          note: (text) => notes.push(text),
        })
        expect(hasCounted, 'the row counted no fault').toBe(true)
        expect(times, 'the fault was injected too rarely for the row to count as run').toBeGreaterThanOrEqual(
          least,
        )
      } catch (error) {
        finish(`FAILED: ${String((error as Error).message).split('\n')[0]}`, false)
        throw error
      }
      finish(notes.length > 0 ? `${title}; ${notes.join(', ')}` : title, true)
    },
    timeoutMs,
  )
}

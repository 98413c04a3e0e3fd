/** Rows of the matrix as tests, and their lines in the table at the end. */
import { appendFileSync } from 'node:fs'
import { expect, test } from 'vitest'

export interface Line {
  row: string
  title: string
  injected: string
  times: number
  outcome: string
  ms: number
  isPassed: boolean
  /** Written when the row begins: of one that never ends, it is the only line. */
  isStart?: boolean
}

export interface Row {
  /** Rule 6: says how often the fault was injected, and fails the row as not run below `least`. */
  injected(times: number, least?: number): void
  /** What the row asks for and does not get, with the reason: it shows in the table and in no other way. */
  doesNotHold(reason: string): void
  /** A figure for the table. */
  note(text: string): void
}

const file = process.env['FAULTS_LINES']

function print(line: Line): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`)
}

interface RowOptions {
  /** Longest time of the test. */
  timeoutMs?: number
}

/** One row, named `id`: `injected` says what the fault is, `title` what has to come of it. */
export function row(
  id: string,
  injected: string,
  title: string,
  body: (row: Row) => Promise<void>,
  { timeoutMs = 60_000 }: RowOptions = {},
): void {
  test.concurrent(
    `${id} ${injected}: ${title}`,
    async () => {
      const startMs = performance.now()
      const outcome = 'FAILED: it did not come to an end'
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

/** A row that is proved by other tests, or not at all: listed with where, or why. */
export function elsewhere(id: string, injected: string, where: string): void {
  print({ row: id, title: where, injected, times: 0, outcome: where, ms: 0, isPassed: true })
}

/** Runs rows of test/faults/README.md as tests. */
import { expect, test } from 'vitest'
import { TIER } from '../../../scripts/tiers.mjs'

/** The default form leaves out these rows: they take seconds, or many processes. */
const FULL_ROWS = 'B66 F02 F06 F08 F09 F11 F12 F13 F14 F16 F18 F21 F29 F76 F85'.split(' ')

export interface Row {
  /**
   * Adds to the count of injected faults. If the count stays below `least`, the row counts as not run and fails
   * (test/faults/README.md, section 1.0, rule 6).
   */
  injected(times: number, least?: number): void
}

/** Defines the test of a row of test/faults/README.md. `injected` describes the fault, `title` the required result. */
export function row(
  id: string,
  injected: string,
  title: string,
  body: (row: Row) => Promise<void>,
  timeoutMs = 120_000,
): void {
  // F78 has a file of its own.
  if (TIER !== 'full' && id !== 'F78' && FULL_ROWS.includes(id) !== (TIER === 'rest')) return
  test.concurrent(
    `${id} ${injected}: ${title}`,
    async () => {
      let times = 0
      let least = Number.NaN
      await body({
        injected: (count, atLeast = 1) => {
          times += count
          least = atLeast
        },
      })
      expect(times, 'the fault was injected too rarely for the row to count as run').toBeGreaterThanOrEqual(
        least,
      )
    },
    timeoutMs,
  )
}

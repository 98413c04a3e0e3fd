import type { FileRecord, Segment } from './segment.ts'

/** Records in a row that the client does not hold. */
export interface Run {
  readonly segment: Segment
  start: number
  end: number
  count: number
}

/** Adds a record to the last run, or begins another. */
export function addToRun(runs: Run[], record: FileRecord): void {
  const { segment, start, end } = record
  const last = runs[runs.length - 1]
  if (last?.segment === segment && last.end === start) {
    last.end = end
    last.count++
  } else runs.push({ segment, start, end, count: 1 })
}

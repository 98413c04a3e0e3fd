import type { TimeRange } from './event-reader.ts'

/** Width of the intervals in which arrivals are counted, milliseconds. */
export const BUCKET_MS = 10_000

/** A range of time in whole buckets. */
export interface Buckets {
  first: number
  /** Excluded. */
  end: number
}

export function bucketsOf({ fromMs, toMs }: TimeRange): Buckets {
  return {
    first: fromMs === undefined ? 0 : Math.floor(fromMs / BUCKET_MS),
    end: toMs === undefined ? Number.MAX_SAFE_INTEGER : Math.ceil(toMs / BUCKET_MS),
  }
}

/** The last millisecond of a bucket, shown as the time of the newest record counted in it: the exact time is not stored. */
export function endOfBucket(bucket: number): string {
  return new Date((bucket + 1) * BUCKET_MS - 1).toISOString()
}

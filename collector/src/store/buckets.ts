import type { TimeRange } from './event-reader.ts'

/** Length of the intervals ("buckets") in which events, requests and deliveries are counted. */
export const BUCKET_MS = 10_000

/** A bucket has the number `floor(time in milliseconds / BUCKET_MS)`. */
export interface Buckets {
  first: number
  /** The number after that of the last bucket. */
  end: number
}

export function bucketsOf({ fromMs, toMs }: TimeRange): Buckets {
  return {
    first: fromMs === undefined ? 0 : Math.floor(fromMs / BUCKET_MS),
    end: toMs === undefined ? Number.MAX_SAFE_INTEGER : Math.ceil(toMs / BUCKET_MS),
  }
}

/** The last millisecond of a bucket, shown as the time of its newest record, because counts do not store exact times. */
export function endOfBucket(bucket: number): string {
  return new Date((bucket + 1) * BUCKET_MS - 1).toISOString()
}

/** Counts of the stored records, and the number of events in each second of the last minute. */
export interface Stats {
  accepted: number
  /** Without `repeated`. */
  rejected: number
  /** Events that were stored before, with the same content. */
  repeated: number
  byReason: Record<string, number>
  byType: Record<string, number>
  bySource: Record<string, number>
  /** The last minute, beginning with the oldest second. The last entry is the current second. */
  perSecond: Second[]
  /** Number of stored requests. `refused` is the number of those that were refused. */
  requests: number
  refused: number
}

export interface Second {
  accepted: number
  rejected: number
  repeated: number
}

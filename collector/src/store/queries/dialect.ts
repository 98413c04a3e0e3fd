import type { TimeRange } from '../queries.ts'
import type { Bounds, Dialect } from '../search/dialect.ts'
import type { EventCondition } from '../search/event-condition.ts'
import type { Query, Sql } from '../sql.ts'

/** Columns of the ids of people. */
export type IdColumn = 'user_id' | 'anonymous_id'

/** Columns of `event` by which single events are looked up. */
export type LookupColumn = IdColumn | 'name' | 'message_id'

/** The parts of statements that a database writes in a way of its own, for one question. */
export interface QueryDialect extends Dialect {
  /** Number of the oldest event that may be there. */
  readonly first: number
  /** Number of the newest event that was ever there. */
  readonly last: number
  /** Where events of a time can lie; some in there may still be outside of it when the clock was set. */
  boundsOf(range: TimeRange): Query<Bounds>
  /** Cuts bounds into slices in the order of the search, each as long as one statement may take. */
  slices(bounds: Bounds, order: 'oldest' | 'newest', kind: SliceKind): Iterable<Bounds>
  /** Whether a row lies within bounds. */
  within(bounds: Bounds, table?: SequencedTable): Sql
  /** Whether the number of a row is one of these. */
  among(seqs: readonly number[], table?: SequencedTable): Sql
  /** `event WHERE ...`: the events of a slice for which the condition holds. */
  matching(condition: EventCondition, slice: Bounds): Sql
  /** Whether a column has a value, by its index. */
  has(column: LookupColumn, value: Sql): Sql
  /**
   * `event WHERE ...`: the events within bounds for which a condition on a column holds that has an index.
   *
   * @param beside A table for each of whose rows that is asked.
   */
  lookup(column: LookupColumn, condition: Sql, bounds: Bounds, beside?: Sql): Sql
  /** A table `ids` with these texts as `id`. */
  ids(texts: readonly string[]): Sql
  /** Names the index by which `event` is read, where the database would take another one. */
  by(index: 'event_violations'): Sql
  /** The newest event of each reason within bounds and a time; of some when the time for it is over. */
  newestByReason(
    reasons: readonly string[],
    bounds: Bounds,
    range: { fromMs: number; toMs: number },
  ): Query<ReasonExample[]>
}

/** Tables whose rows have the number of an event; `newer` is one that a statement calls so. */
export type SequencedTable = 'event' | 'delivery' | 'attempt' | 'newer' | 'inherited'

/** How much a statement reads for each number: the rows, an index that is much smaller, or the few rows that an index finds. */
export type SliceKind = 'rows' | 'index' | 'few'

/** An event that was not accepted for a reason. */
export interface ReasonExample {
  reason: string
  seq: number
  at: number
}

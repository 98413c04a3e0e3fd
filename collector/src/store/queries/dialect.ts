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
  /** Number of the oldest event that may still be stored. */
  readonly first: number
  /** Number of the newest event ever stored. */
  readonly last: number
  /** The bounds of events received in a range of time. If the clock was set, other events may lie between them. */
  boundsOf(range: TimeRange): Query<Bounds>
  /** Cuts bounds into slices in the order of the search, each small enough for one statement. */
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
   * `event WHERE ...`: the events within bounds for which a condition on an indexed column holds.
   *
   * @param beside A table; the condition is evaluated for each of its rows.
   */
  lookup(column: LookupColumn, condition: Sql, bounds: Bounds, beside?: Sql): Sql
  /** A table `ids` with these texts as `id`. */
  ids(texts: readonly string[]): Sql
  /** Names the index for reading `event`, where the database would choose another one. */
  by(index: 'event_violations'): Sql
  /** The newest event of each reason within bounds and a range of time; of some reasons only when the time limit is reached. */
  newestByReason(
    reasons: readonly string[],
    bounds: Bounds,
    range: { fromMs: number; toMs: number },
  ): Query<ReasonExample[]>
}

/** Tables whose rows have the number of an event; `newer` is an alias within a statement. */
export type SequencedTable = 'event' | 'delivery' | 'attempt' | 'newer' | 'inherited'

/** How much a statement reads for each number: the rows, an index that is much smaller, or the few rows that an index finds. */
export type SliceKind = 'rows' | 'index' | 'few'

/** An event that was not accepted for a reason. */
export interface ReasonExample {
  reason: string
  seq: number
  at: number
}

import type { Operator } from '../search/syntax.ts'
import type { Budget } from './budget.ts'
import type { TimeRange } from './event-reader.ts'
import type { Query, Sql, SqlValue } from './sql.ts'
import type { TextColumn } from './tables.ts'

/** A range of sequence numbers (`seq`), both ends included. */
export interface Bounds {
  first: number
  last: number
}

/** A search reads the events in slices, that is ranges of sequence numbers. */
export interface EventCondition {
  on(slice: Bounds): Sql
  /**
   * Each matching event has `value` in at least one of these indexed columns; undefined = all events of a slice are read.
   * `isSegmented`: in SQLite, the first column of the indexes is the segment (`seq >> SEGMENT_BITS`).
   */
  index: { columns: string[]; value: SqlValue; isSegmented: boolean } | undefined
  /**
   * Whether the condition reads only columns of the covering index `event_facts` (SQLite), which is many times smaller than the
   * table.
   */
  needsOnlyFacts: boolean
  /** See `comparisonsOf`. */
  comparisons: number
}

/** SQL conditions on the value at a path into the message. */
export interface PathValue {
  readonly exists: Sql
  text(operator: Operator, text: string): Sql
  begins(text: string): Sql
  /** @param number As it is stored, see `storedNumber`. Numbers beyond 2^53 are equal only if all their digits are. */
  number(operator: Operator, number: string): Sql
  /** Whether the value is this JSON literal: `true`, `false` or `null`. */
  is(literal: string): Sql
}

export type IdColumn = 'user_id' | 'anonymous_id'

/** `newer` is an alias of `attempt` within one statement. */
export type SequencedTable = 'event' | 'delivery' | 'attempt' | 'newer' | 'inherited'

/** The data that a statement reads from a slice: whole rows, a covering index, or few rows found by an index. */
export type SliceKind = 'rows' | 'index' | 'few'

/** `at` is the time of receipt. */
export interface ReasonExample {
  reason: string
  seq: number
  at: number
}

/** Rows passed to a statement, as one list of values for each column name. Texts are already escaped with `escapeForStore`. */
export type Given = Readonly<
  Record<string, { type: 'number' | 'text'; values: ReadonlyArray<string | number | null> }>
>

/** The parts of statements that differ between SQLite and PostgreSQL. */
export interface Dialect {
  /** Sequence number of the oldest event that may still be stored. */
  readonly first: number
  /** Sequence number of the newest event ever stored. */
  readonly last: number
  /** Bounds that contain all events received in a range of time, and perhaps others, so queries also compare the time. */
  boundsOf(range: TimeRange): Query<Bounds>
  /**
   * Divides bounds into slices, each small enough for one statement, in the order of the search.
   *
   * @param comparisons Comparisons that the statement makes for each row; default 1.
   */
  slices(bounds: Bounds, order: 'oldest' | 'newest', kind: SliceKind, comparisons?: number): Iterable<Bounds>
  within(bounds: Bounds, table?: SequencedTable): Sql
  hasDelivery(condition: Sql, slice: Bounds): Sql
  among(seqs: readonly number[], table?: SequencedTable): Sql
  /** `event where ...`: the events of a slice for which the condition holds. */
  matching(condition: EventCondition, slice: Bounds): Sql
  /** Compares a text column with a value so that an index on the column can be used. */
  equals(column: string, value: Sql): Sql
  /**
   * `event where ...`: the events within bounds for which a condition on an indexed column holds.
   *
   * @param beside A table to join; the condition is evaluated for each row of this table.
   */
  lookup(column: TextColumn, condition: Sql, bounds: Bounds, beside?: Sql): Sql
  /** A table `ids` with one column `id` that contains these texts. */
  ids(texts: readonly string[]): Sql
  /** An index hint for `event`; empty in a database that needs none. */
  indexHint(index: 'event_violations'): Sql
  /** When the time limit is reached, reasons may be missing. */
  newestByReason(
    reasons: readonly string[],
    bounds: Bounds,
    range: { fromMs: number; toMs: number },
    budget: Budget,
  ): Query<ReasonExample[]>

  /** Ignores the case of ASCII letters. */
  readonly like: Sql
  /** The values that a path can refer to: a whole number in the path may be an array index or an object key. */
  at(path: readonly string[]): readonly PathValue[]

  /** A table `given` with these columns and values. */
  given(columns: Given): Sql
  /** At the end of a statement: locks the rows of `event` that it reads. */
  readonly lockEvents: Sql
  /** At the end of a statement: locks the rows of `delivery` that it reads. */
  readonly lockDeliveries: Sql
  /** At the end of a statement: locks the rows that it reads, and skips rows locked by other transactions. */
  readonly skipLocked: Sql
  /**
   * For inserts into partitioned tables: the partition key `day`, and its value for `given.seq`, each followed by a comma.
   * Empty in a database without partitions.
   */
  readonly dayColumn: Sql
  readonly dayOfGiven: Sql
  readonly deliveryTallyKey: Sql
  /** Milliseconds since the epoch, by a clock that all processes share. */
  now(nowMs: number): Sql
  /** The key-value table, its key column, and the key under which the signing keys of tokens are stored. */
  readonly keyValueTable: Sql
  readonly keyColumn: Sql
  readonly tokenKeys: string
  /** Notifies all processes of new delivery results; undefined = the processes poll for results. */
  readonly notifyOutcomes: Sql | undefined
}

/** Steps are a `Query`: a generator that yields SQL statements and receives their rows. */
export interface StepContext {
  dialect: Dialect
  /** Milliseconds since the epoch. */
  nowMs: number
}

export interface StepRunner {
  /** Runs the statements one after another without a transaction: each statement sees the data committed by then. */
  read<T>(steps: (context: StepContext) => Query<T>): Promise<T>
  /**
   * Runs the statements in one transaction. If the steps are idempotent (`isRepeatable`), repeats them after a transient error.
   */
  write<T>(steps: (context: StepContext) => Query<T>, isRepeatable?: boolean): Promise<T>
}

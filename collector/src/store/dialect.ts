import type { Operator } from '../search/syntax.ts'
import type { TimeRange } from './event-reader.ts'
import type { Query, Sql, SqlValue } from './sql.ts'

/** A range of sequence numbers (`seq`), both ends included. */
export interface Bounds {
  first: number
  last: number
}

/** The condition of a search over events. */
export interface EventCondition {
  /** Whether an event of a slice matches. */
  on(slice: Bounds): Sql
  /**
   * Each matching event has `value` in at least one of these indexed columns; undefined = all events of a slice are read.
   * `isSegmented`: in SQLite, the indexes begin with the segment.
   */
  index: { columns: string[]; value: SqlValue; isSegmented: boolean } | undefined
  /**
   * Whether it reads only the columns of a covering index, neither texts nor the message. Such an index (`event_facts` in
   * SQLite) is many times smaller than the table.
   */
  needsOnlyFacts: boolean
}

/** A value in the message, by its path. Numbers are compared as numbers, everything else as text. */
export interface PathValue {
  readonly exists: Sql
  text(operator: Operator, text: string): Sql
  begins(text: string): Sql
  number(operator: Operator, number: number): Sql
  /** Whether it is the literal given: `true`, `false` or `null`. */
  is(literal: string): Sql
}

/** Columns of the ids of people. */
export type IdColumn = 'user_id' | 'anonymous_id'

/** Columns of `event` by which single events are looked up. */
export type LookupColumn = IdColumn | 'name' | 'message_id'

/** Tables with the sequence number of an event; `newer` is an alias within a statement. */
export type SequencedTable = 'event' | 'delivery' | 'attempt' | 'newer' | 'inherited'

/** The size of a slice depends on the data that a statement reads: whole rows, a covering index, or few rows found by one. */
export type SliceKind = 'rows' | 'index' | 'few'

/** A rejected event, as an example of its reason. */
export interface ReasonExample {
  reason: string
  seq: number
  at: number
}

/** Rows passed to a statement: the values of each column, by its name. Texts are as they are stored, see `escapeForStore`. */
export type Given = Readonly<
  Record<string, { type: 'number' | 'text'; values: ReadonlyArray<string | number | null> }>
>

/** The parts of statements that differ between databases, and the sequence numbers that the database holds at the moment. */
export interface Dialect {
  /** Sequence number of the oldest event that may still be stored. */
  readonly first: number
  /** Sequence number of the newest event ever stored. */
  readonly last: number
  /** The bounds of the events received in a range of time. If the clock was set, events of other times may lie between them. */
  boundsOf(range: TimeRange): Query<Bounds>
  /** Cuts bounds into slices in the order of the search, each small enough for one statement. */
  slices(bounds: Bounds, order: 'oldest' | 'newest', kind: SliceKind): Iterable<Bounds>
  /** Whether a row lies within bounds. */
  within(bounds: Bounds, table?: SequencedTable): Sql
  /** Whether an event of the slice has a delivery for which a condition holds. */
  hasDelivery(condition: Sql, slice: Bounds): Sql
  /** Whether the number of a row is one of these. */
  among(seqs: readonly number[], table?: SequencedTable): Sql
  /** `event WHERE ...`: the events of a slice for which the condition holds. */
  matching(condition: EventCondition, slice: Bounds): Sql
  /** Whether a text column equals a value, in a form that uses the index of the column, if there is one. */
  equals(column: string, value: Sql): Sql
  /**
   * `event WHERE ...`: the events within bounds for which a condition on an indexed column holds.
   *
   * @param beside A table to join; the condition is evaluated for each of its rows.
   */
  lookup(column: LookupColumn, condition: Sql, bounds: Bounds, beside?: Sql): Sql
  /** A table `ids` with these texts as `id`. */
  ids(texts: readonly string[]): Sql
  /** An index hint for `event`, in a database that would choose another index. */
  indexHint(index: 'event_violations'): Sql
  /**
   * The newest event of each reason within bounds and a range of time. When the time limit is reached, reasons may be missing.
   */
  newestByReason(
    reasons: readonly string[],
    bounds: Bounds,
    range: { fromMs: number; toMs: number },
  ): Query<ReasonExample[]>

  /** The operator `LIKE` that ignores the case of ASCII letters. */
  readonly like: Sql
  /** The values in the message that a path may mean: a whole number in it is an index of an array or a key of an object. */
  at(path: readonly string[]): readonly PathValue[]

  /** A table `given` with these columns. */
  given(columns: Given): Sql
  /** At the end of a statement: locks the rows of `delivery` that it reads. */
  readonly lockDeliveries: Sql
  /** At the end of a statement: locks the rows that it reads, and skips rows locked by others. */
  readonly skipLocked: Sql
  /**
   * For inserts into partitioned tables: the partition key, and its value for `given.seq`, each followed by a comma. Empty in a
   * database without partitions.
   */
  readonly dayColumn: Sql
  readonly dayOfGiven: Sql
  /** The unique key of `delivery_tally`, for `ON CONFLICT`. */
  readonly deliveryTallyKey: Sql
  /** The current time, milliseconds since the epoch, by the one clock that all processes share. */
  now(nowMs: number): Sql
  /** The key-value table, its key column, and the key under which the signing keys of tokens are stored. */
  readonly keyValueTable: Sql
  readonly keyColumn: Sql
  readonly tokenKeys: string
  /** Notifies all processes of new results, in the transaction that writes them; undefined = they poll for them. */
  readonly notifyOutcomes: Sql | undefined
}

/** The context in which steps run. Steps are a `Query`: a generator that yields statements. */
export interface StepContext {
  dialect: Dialect
  /** Milliseconds since the epoch. */
  nowMs: number
}

/** Runs steps on a database. */
export interface StepRunner {
  /** Runs the statements one after another without a transaction: each sees what is committed when it runs. */
  read<T>(steps: (context: StepContext) => Query<T>): Promise<T>
  /**
   * Runs the statements in one transaction.
   *
   * @param isRepeatable Whether the steps are idempotent: they are then repeated for a while when the connection is lost.
   */
  write<T>(steps: (context: StepContext) => Query<T>, isRepeatable?: boolean): Promise<T>
}

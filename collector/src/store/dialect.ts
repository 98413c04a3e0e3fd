import type { Operator } from '../search/syntax.ts'
import type { TimeRange } from './event-reader.ts'
import type { Query, Sql, SqlValue } from './sql.ts'

/** The numbers between which records lie, both included. */
export interface Bounds {
  first: number
  last: number
}

/** A search over events. */
export interface EventCondition {
  /** Whether an event of a slice matches. */
  on(slice: Bounds): Sql
  /** The columns whose indexes find the records of a slice; undefined = all records are read. */
  index: { columns: string[]; value: SqlValue; isSegmented: boolean } | undefined
  /**
   * Whether it needs only facts, neither texts nor the message: a database may have these in an index many times smaller than the
   * table.
   */
  needsOnlyFacts: boolean
}

/** A value in the message, by its path. Numbers compare with numbers, everything else as text. */
export interface PathValue {
  readonly exists: Sql
  text(operator: Operator, text: string): Sql
  begins(text: string): Sql
  number(operator: Operator, number: number): Sql
  /** Whether it is this one of `true`, `false` and `null`. */
  is(literal: string): Sql
}

/** Columns of the ids of people. */
export type IdColumn = 'user_id' | 'anonymous_id'

/** Columns of `event` by which single events are looked up. */
export type LookupColumn = IdColumn | 'name' | 'message_id'

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

/** Rows passed to a statement, by the names of their columns. Texts are escaped as in the store. */
export type Given = Readonly<
  Record<string, { type: 'number' | 'text'; values: ReadonlyArray<string | number | null> }>
>

/** The parts of statements that a database writes in a way of its own, with the numbers of its events now. */
export interface Dialect {
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
  /** Whether an event of the slice has a delivery for which a condition holds. */
  hasDelivery(condition: Sql, slice: Bounds): Sql
  /** Whether the number of a row is one of these. */
  among(seqs: readonly number[], table?: SequencedTable): Sql
  /** `event WHERE ...`: the events of a slice for which the condition holds. */
  matching(condition: EventCondition, slice: Bounds): Sql
  /** Whether a column of text has a value, by its index if it has one. */
  equals(column: string, value: Sql): Sql
  /**
   * `event WHERE ...`: the events within bounds for which a condition on an indexed column holds.
   *
   * @param beside A table; the condition is evaluated for each of its rows.
   */
  lookup(column: LookupColumn, condition: Sql, bounds: Bounds, beside?: Sql): Sql
  /** A table `ids` with these texts as `id`. */
  ids(texts: readonly string[]): Sql
  /** Names the index for reading `event`, where the database would choose another one. */
  indexHint(index: 'event_violations'): Sql
  /** The newest event of each reason within bounds and a range of time; of some reasons only when the time limit is reached. */
  newestByReason(
    reasons: readonly string[],
    bounds: Bounds,
    range: { fromMs: number; toMs: number },
  ): Query<ReasonExample[]>

  /** The operator `LIKE` that ignores the case of ASCII letters. */
  readonly like: Sql
  /** The values in the message to which a path may lead: a whole number is a place in an array or a key of an object. */
  at(path: readonly string[]): readonly PathValue[]

  /** A table `given` with these columns. */
  given(columns: Given): Sql
  /** At the end of a statement: locks the rows of `delivery` that it reads. */
  readonly lockDeliveries: Sql
  /** At the end of a statement: locks the rows that it reads, and leaves out rows locked by others. */
  readonly skipLocked: Sql
  /** The column of the partition of a row, and its value for a `given.seq`, each with a comma; or nothing. */
  readonly dayColumn: Sql
  readonly dayOfGiven: Sql
  /** The columns by which deliveries are counted. */
  readonly deliveryTallyKey: Sql
  /** Milliseconds since the epoch, by the one clock that all processes share. */
  now(nowMs: number): Sql
  /** The table of single values, its column of names, and the name of the keys of tokens. */
  readonly keyValueTable: Sql
  readonly keyColumn: Sql
  readonly tokenKeys: string
  /** Notifies all processes of new results, in the transaction that writes them; undefined = they find out themselves. */
  readonly notifyOutcomes: Sql | undefined
}

/** The argument of steps that read and write. */
export interface StepContext {
  dialect: Dialect
  /** Milliseconds since the epoch. */
  nowMs: number
}

/** Runs steps on a database. */
export interface StepRunner {
  /** Runs the statements one after another, each on the current data. */
  read<T>(steps: (context: StepContext) => Query<T>): Promise<T>
  /**
   * Runs the statements in one transaction.
   *
   * @param isRepeatable Whether the steps are idempotent: they are then repeated for a while when the connection is lost.
   */
  write<T>(steps: (context: StepContext) => Query<T>, isRepeatable?: boolean): Promise<T>
}

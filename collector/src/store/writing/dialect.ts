import type { QueryDialect } from '../queries/dialect.ts'
import type { Query, Sql } from '../sql.ts'

/** Rows that a statement is given, by the names of their columns. Texts as the store keeps them. */
export type Given = Readonly<
  Record<string, { type: 'number' | 'text'; values: ReadonlyArray<string | number | null> }>
>

/** The parts of statements that write which a database has in a way of its own. */
export interface WriteDialect extends QueryDialect {
  /** A table `given` with these columns. */
  given(columns: Given): Sql
  /** At the end of a statement: locks the rows of `delivery` that it reads. */
  readonly lockDeliveries: Sql
  /** At the end of a statement: locks what it reads, and leaves out what somebody else has locked. */
  readonly lockFree: Sql
  /** The column that says in which part of its table a row lies, and its value for a `given.seq`, each with a comma; or nothing. */
  readonly dayColumn: Sql
  readonly dayOfGiven: Sql
  /** The columns by which deliveries are counted. */
  readonly deliveryTallyKey: Sql
  /** Milliseconds since the epoch, by the one clock that all processes share. */
  readonly now: Sql
  /** The table of single values, its column of names, and the name of the keys of tokens. */
  readonly keptTable: Sql
  readonly keptName: Sql
  readonly tokenKeys: string
  /** Tells all processes that outcomes were written, in the transaction that wrote them; undefined = they find out themselves. */
  readonly tellOutcomes: Sql | undefined
}

/** The argument of steps that write. */
export interface WriteContext {
  dialect: WriteDialect
  /** Milliseconds since the epoch. */
  nowMs: number
}

/** Runs steps on a database. */
export interface StepRunner {
  /** One statement after the other, each on what is there by then. */
  read<T>(steps: (context: WriteContext) => Query<T>): Promise<T>
  /**
   * In one transaction.
   *
   * @param isRepeatable Whether nothing changes when they are run again: they are, for a while, when the connection is lost.
   */
  write<T>(steps: (context: WriteContext) => Query<T>, isRepeatable?: boolean): Promise<T>
}

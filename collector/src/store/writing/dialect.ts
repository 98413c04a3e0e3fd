import type { QueryDialect } from '../queries/dialect.ts'
import type { Query, Sql } from '../sql.ts'

/** Rows passed to a statement, by the names of their columns. Texts are escaped as in the store. */
export type Given = Readonly<
  Record<string, { type: 'number' | 'text'; values: ReadonlyArray<string | number | null> }>
>

/** The parts of writing statements that differ between databases. */
export interface WriteDialect extends QueryDialect {
  /** A table `given` with these columns. */
  given(columns: Given): Sql
  /** At the end of a statement: locks the rows of `delivery` that it reads. */
  readonly lockDeliveries: Sql
  /** At the end of a statement: locks the rows that it reads, and leaves out rows locked by others. */
  readonly lockFree: Sql
  /** The column of the partition of a row, and its value for a `given.seq`, each with a comma; or nothing. */
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
  /** Notifies all processes of new results, in the transaction that writes them; undefined = they find out themselves. */
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
  /** Runs the statements one after another, each on the current data. */
  read<T>(steps: (context: WriteContext) => Query<T>): Promise<T>
  /**
   * Runs the statements in one transaction.
   *
   * @param isRepeatable Whether the steps are idempotent: they are then repeated for a while when the connection is lost.
   */
  write<T>(steps: (context: WriteContext) => Query<T>, isRepeatable?: boolean): Promise<T>
}

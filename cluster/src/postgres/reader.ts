import type {
  EventReader,
  QueryName,
  QueryParameters,
  QueryResult,
  TrackingPlan,
} from 'trackpost-collector/ports'
import { Budget, inNumbers, QUERY_MS, stepsOf } from 'trackpost-collector/sql'
import type { Database } from './database.ts'
import { dialectOf } from './dialect.ts'
import { readSpan } from './span.ts'
import { runOn } from './steps.ts'

/** Runs queries on separate connections, so that they never delay incoming events. Each query sees one snapshot. */
export class PostgresReader implements EventReader {
  readonly #database: Pick<Database, 'reading'>
  readonly #now: () => number
  readonly #plan: TrackingPlan | null
  readonly #queryMs: number

  constructor(
    database: Pick<Database, 'reading'>,
    now: () => number,
    plan: TrackingPlan | null,
    queryMs = QUERY_MS,
  ) {
    this.#database = database
    this.#now = now
    this.#plan = plan
    this.#queryMs = queryMs
  }

  async ask<N extends QueryName>(
    name: N,
    given: QueryParameters<N>,
    signal?: AbortSignal,
  ): Promise<QueryResult<N>> {
    signal?.throwIfAborted()
    const parameters = inNumbers(given)
    return this.#database.reading(async (connection) => {
      // The time limit starts here, so the wait for a connection does not count.
      const budget = new Budget(this.#queryMs)
      const dialect = dialectOf(await readSpan(connection))
      const context = { dialect, budget, nowMs: this.#now(), plan: this.#plan }
      return runOn(connection, stepsOf(context, name, parameters), signal)
    })
  }
}

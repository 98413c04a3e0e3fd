import { type Clock, sleep } from 'trackpost-collector/ports'
import type { Query, StepContext, StepRunner } from 'trackpost-collector/sql'
import type { Database, Queryable } from './database.ts'
import { dialectOf } from './dialect.ts'
import { isTransient } from './errors.ts'
import { readSpan } from './span.ts'

export async function runOn<T>(connection: Queryable, steps: Query<T>, signal?: AbortSignal): Promise<T> {
  let step = steps.next([])
  while (!step.done) {
    signal?.throwIfAborted()
    const statement = step.value
    step = steps.next(
      statement === undefined ? [] : await connection.query(numbered(statement.sql), statement.values),
    )
  }
  return step.value
}

function numbered(sql: string): string {
  let count = 0
  return sql.replace(/\?/g, () => {
    count++
    return `$${count}`
  })
}

const ATTEMPTS = 5
const FIRST_DELAY_MS = 100

/**
 * With these settings, every look-up uses an index, even if PostgreSQL believes that a table is small. The timeouts limit how
 * long a process that hangs in a transaction can delay the others.
 */
const BEGIN = `BEGIN; SET LOCAL jit = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
  SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '5s'`

/**
 * A runner that uses the pool for writing, also for `read`: a connection pooler may send the read-only transactions of the
 * other pool to a replica that lags behind.
 */
export function stepRunner(database: Pick<Database, 'query' | 'transaction'>, clock: Clock): StepRunner {
  const run = async <T>(connection: Queryable, steps: (context: StepContext) => Query<T>) => {
    const dialect = dialectOf(await readSpan(connection))
    return runOn(connection, steps({ dialect, nowMs: clock.now() }))
  }
  return {
    read: (steps) => run(database, steps),
    async write(steps, isRepeatable = false) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await database.transaction((connection) => run(connection, steps), { begin: BEGIN })
        } catch (cause) {
          if (!isRepeatable || attempt >= ATTEMPTS || !isTransient(cause)) throw cause
          await sleep(clock, FIRST_DELAY_MS * 2 ** (attempt - 1))
        }
      }
    },
  }
}

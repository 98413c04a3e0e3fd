import { type Clock, sleep } from '../../clock.ts'
import { type Query, raw, sql } from '../sql.ts'
import type { StepRunner, WriteContext, WriteDialect } from '../writing/dialect.ts'
import type { Database, Queryable } from './database.ts'
import { CHANNEL } from './functions.ts'
import { isPassing } from './passing.ts'
import { queryDialect } from './query-dialect.ts'
import { runOn } from './reader.ts'
import { readSpan } from './span.ts'

const ATTEMPTS = 5
const FIRST_DELAY_MS = 100

/**
 * Every look-up uses an index, even if a table was small when it was analysed. The time limits bound how long a process that
 * stops in the middle can delay the others.
 */
const BEGIN = `BEGIN; SET LOCAL jit = off; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
  SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '5s'`

const WRITING: Omit<WriteDialect, keyof ReturnType<typeof queryDialect>> = {
  given(columns) {
    const arrays = Object.values(columns).map(({ type, values }) =>
      type === 'number' ? sql`${values}::bigint[]` : sql`${values}::text[]`,
    )
    const list = arrays.reduce((before, one) => sql`${before}, ${one}`)
    return sql`unnest(${list}) AS given (${raw(Object.keys(columns).join(', '))})`
  },
  lockDeliveries: raw('FOR UPDATE OF delivery'),
  lockFree: raw('FOR UPDATE SKIP LOCKED'),
  dayColumn: raw('day, '),
  dayOfGiven: raw('day_of(given.seq), '),
  deliveryTallyKey: raw('bucket, destination, state, brief(reason)'),
  // The clock of the server, as the clocks of processes differ.
  now: raw('floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint'),
  keptTable: raw('kept_value'),
  keptName: raw('name'),
  tokenKeys: 'token keys',
  tellOutcomes: raw(`UPDATE log_revision SET revision = revision + 1 RETURNING pg_notify('${CHANNEL}', '')`),
}

/** Runs steps that write on the connections for writing: those for reading may lead to a replica, which may be behind. */
export function stepRunner(database: Pick<Database, 'query' | 'transaction'>, clock: Clock): StepRunner {
  const run = async <T>(connection: Queryable, steps: (context: WriteContext) => Query<T>) => {
    const dialect = { ...queryDialect(await readSpan(connection)), ...WRITING }
    return runOn(connection, steps({ dialect, nowMs: clock.now() }))
  }
  return {
    read: (steps) => run(database, steps),
    async write(steps, isRepeatable = false) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await database.transaction((connection) => run(connection, steps), { begin: BEGIN })
        } catch (cause) {
          if (!isRepeatable || attempt >= ATTEMPTS || !isPassing(cause)) throw cause
          await sleep(clock, FIRST_DELAY_MS * 2 ** (attempt - 1))
        }
      }
    },
  }
}

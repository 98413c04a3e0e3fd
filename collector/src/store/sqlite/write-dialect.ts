import { raw, sql } from '../sql.ts'
import type { StepRunner, WriteContext, WriteDialect } from '../writing/dialect.ts'
import type { Database } from './database.ts'
import { queryDialect } from './query-dialect.ts'
import { answerOn, runNow } from './work.ts'

const NOTHING = raw('')

/** SQLite has one writer at a time, so nothing must be locked. */
const WRITING: Omit<WriteDialect, keyof ReturnType<typeof queryDialect> | 'now'> = {
  given(columns) {
    const names = Object.keys(columns)
    const [first] = Object.values(columns)
    const rows = first?.values.map((_, index) => names.map((name) => columns[name]?.values[index]))
    const fields = names.map((name, index) => `value ->> ${index} AS ${name}`).join(', ')
    return sql`(SELECT ${raw(fields)} FROM json_each(${JSON.stringify(rows)})) AS given`
  },
  lockDeliveries: NOTHING,
  lockFree: NOTHING,
  dayColumn: NOTHING,
  dayOfGiven: NOTHING,
  deliveryTallyKey: raw('bucket, destination, state, reason'),
  keptTable: raw('meta'),
  keptName: raw('key'),
  tokenKeys: 'token_keys',
  tellOutcomes: undefined,
}

/**
 * Runs steps that write on the connection of this process.
 *
 * @param requirePlace Throws when the file was removed: data written then would be lost.
 */
export function stepRunner(database: Database, now: () => number, requirePlace: () => void): StepRunner {
  const contextOf = (): WriteContext => {
    const nowMs = now()
    return { dialect: { ...queryDialect(database), ...WRITING, now: sql`${nowMs}` }, nowMs }
  }
  const answer = answerOn(database)
  return {
    read: async (steps) => runNow(steps(contextOf()), answer),
    async write(steps) {
      requirePlace()
      return database.transaction(() => runNow(steps(contextOf()), answer))
    },
  }
}

import { expect, onTestFinished, test } from 'vitest'
import { isStoreUnavailable, StoreUnavailableError } from '../../../collector/src/store/unavailable.ts'
import { systemClock } from '../../../collector/src/system-clock.ts'
import { Database } from '../../src/postgres/database.ts'
import { PostgresStore } from '../../src/postgres/postgres-store.ts'

const failed = (code: string) => Object.assign(new Error(`connect ${code}`), { code })

function unreachable(): Database {
  const database = new Database('postgres://127.0.0.1:1/none')
  onTestFinished(() => database.close())
  return database
}

test.each<[string, (database: Database) => Promise<unknown>]>([
  ['a statement', (database) => database.query('SELECT 1')],
  ['a transaction', (database) => database.transaction(async () => {})],
  ['a query', (database) => database.reading(async () => {})],
])(
  '%s without a server reports that the store is unavailable, with the error of the connection',
  async (_, ask) => {
    const cause = await ask(unreachable()).catch((failure: unknown) => failure)

    expect(cause).toMatchObject({ code: 'ECONNREFUSED' })
    expect(isStoreUnavailable(cause)).toBe(true)
    expect(isStoreUnavailable(new StoreUnavailableError('it is not open yet'))).toBe(true)
  },
)

test.each([failed('ENOENT'), failed('ECONNREFUSED'), failed('ECONNRESET'), undefined, 'text'])(
  'an error that does not come from the database, %s, does not make the store unavailable',
  (cause) => {
    expect(isStoreUnavailable(cause)).toBe(false)
  },
)

test('a store that is closed before it is opened does not connect to a server', async () => {
  const opened = PostgresStore.open({
    address: 'postgres://127.0.0.1:1/none',
    retentionDays: 1,
    clock: systemClock,
    signal: AbortSignal.abort(),
    onFault: () => {},
  })

  await expect(opened).rejects.toMatchObject({ name: 'AbortError' })
})

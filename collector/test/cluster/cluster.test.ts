import { inject, onTestFinished, test } from 'vitest'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { natsTest, startNats } from '../support/nats.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { LIMIT_MS, prove } from './proof.ts'

/** A separate server, since the test kills it. */
async function ownPostgres(): Promise<PostgresServer> {
  const server = await startPostgres(findPostgres() as string)
  onTestFinished(() => server.close())
  return server
}

// The start of the run reports it if PostgreSQL is missing.
const hasPostgres = inject('postgresPort') !== null
const postgresTest = hasPostgres ? test : test.skip

// Left to the full run: it takes long, mostly waiting, and `test/store/postgres` kills such processes too.
if (process.env['TEST_FULL'] === '1')
  postgresTest(
    'equal processes on one database: whatever dies, each event that got 200 is stored once',
    async () => {
      await prove('equal processes', await ownPostgres())
    },
    LIMIT_MS,
  )

const bothTest = hasPostgres ? natsTest : test.skip
bothTest(
  'fronts, a log and workers: whatever dies, each event that got 200 is stored once',
  async () => {
    const nats = await startNats()
    await prove('fronts and workers', await ownPostgres(), nats)
  },
  LIMIT_MS,
)

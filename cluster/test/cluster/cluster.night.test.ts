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

// If PostgreSQL is missing, a warning is printed at the start of the run.
const hasPostgres = inject('postgresPort') !== null
const postgresTest = hasPostgres ? test : test.skip

postgresTest(
  'equal processes on one database: each event that got 200 is stored once, even if processes are killed',
  async () => {
    await prove('equal processes', await ownPostgres())
  },
  LIMIT_MS,
)

const bothTest = hasPostgres ? natsTest : test.skip
bothTest(
  'fronts, a log and workers: each event that got 200 is stored once, even if processes are killed',
  async () => {
    const nats = await startNats()
    await prove('fronts and workers', await ownPostgres(), nats)
  },
  LIMIT_MS,
)

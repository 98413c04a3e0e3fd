import { inject, onTestFinished, test } from 'vitest'
import { findPostgres } from '../../scripts/find-postgres.mjs'
import { natsTest, startNats } from '../support/nats.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { LIMIT_MS, prove } from './proof.ts'

/** A server of its own: it is killed. */
async function ownPostgres(): Promise<PostgresServer> {
  const server = await startPostgres(findPostgres() as string)
  onTestFinished(() => server.close())
  return server
}

// Said aloud at the start of the run.
const hasPostgres = inject('postgresPort') !== null
const postgresTest = hasPostgres ? test : test.skip

postgresTest(
  'equal processes on one database: whatever dies, what was answered is there, once',
  async () => {
    await prove('equal processes', await ownPostgres())
  },
  LIMIT_MS,
)

const bothTest = hasPostgres ? natsTest : test.skip
bothTest(
  'fronts, a log and workers: whatever dies, what was answered is there, once',
  async () => {
    const nats = await startNats()
    await prove('fronts and workers', await ownPostgres(), nats)
  },
  LIMIT_MS,
)

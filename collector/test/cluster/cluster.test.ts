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
/** Only in the run of full size: most of its time is the clients' own waits, and `test/store/postgres` kills such processes too. */
const postgresTest = hasPostgres ? test : test.skip

if (process.env['TEST_FULL'] === '1')
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

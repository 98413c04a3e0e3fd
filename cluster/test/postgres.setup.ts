import type { TestProject } from 'vitest/node'
import { TIER } from '../../scripts/tiers.mjs'
import { findPostgres } from '../scripts/find-postgres.mjs'
import { startPostgres } from './support/postgres.ts'

/** Starts one server for all test files of a run; each test gets its own database. */
export default async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  if (TIER === 'default') {
    project.provide('postgresPort', null)
    return undefined
  }
  const bin = findPostgres()
  if (bin === undefined) {
    process.stderr.write(
      'SKIPPED: the tests of the store on PostgreSQL, since this machine has no PostgreSQL 14 or later\n',
    )
    project.provide('postgresPort', null)
    return undefined
  }
  const server = await startPostgres(bin)
  project.provide('postgresPort', server.port)
  return () => server.close()
}

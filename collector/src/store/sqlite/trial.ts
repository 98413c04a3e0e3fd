import { type Database, LOCK_WAIT_MS } from './database.ts'

/** As large as a small batch: a file that may not grow any more, or a full disk, has no room for it. */
const TRIAL_BYTES = 65_536
const TRIAL_WAIT_MS = 50

/**
 * Writes a little and takes it away again; waits only briefly for others who are writing.
 *
 * @throws when the database cannot write.
 */
export function tryToWrite(database: Database): void {
  database.pragma(`busy_timeout = ${TRIAL_WAIT_MS}`)
  try {
    database.transaction(() => {
      database.run("INSERT INTO meta (key, value) VALUES ('trial', zeroblob(?))", TRIAL_BYTES)
      database.run("DELETE FROM meta WHERE key = 'trial'")
    })
  } finally {
    database.pragma(`busy_timeout = ${LOCK_WAIT_MS}`)
  }
}

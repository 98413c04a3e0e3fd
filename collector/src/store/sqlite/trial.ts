import { type Database, LOCK_WAIT_MS } from './database.ts'

/** As large as a small batch, so that the trial fails if the disk is full or the file has reached its limit. */
const TRIAL_BYTES = 65_536
const TRIAL_WAIT_MS = 50

/**
 * Writes some data and deletes it again; waits only briefly for other writers.
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

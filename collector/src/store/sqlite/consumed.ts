import { type EventGroup, RefusedError } from '../ports.ts'
import type { Database } from './database.ts'

/** So long the keys of groups are remembered: what comes again later than that has its messageIds left to be known by. */
const KEPT_MS = 3 * 24 * 60 * 60 * 1000

/** Notes the keys of groups, and returns the groups whose keys were not known. Works inside a transaction of the caller. */
export function unknownOf(database: Database, groups: readonly EventGroup[], nowMs: number): EventGroup[] {
  database.run('DELETE FROM consumed WHERE at < ?', nowMs - KEPT_MS)
  const note = 'INSERT INTO consumed (key, at) VALUES (?, ?) ON CONFLICT DO NOTHING'
  return groups.filter(({ key }) => database.run(note, key, nowMs) === 1)
}

/** Codes of errors that lie in the data, not in the disk or in others who use the file. */
const REFUSALS = /^SQLITE_(?:CONSTRAINT|TOOBIG|MISMATCH|RANGE)/

/** The error of a commit, as `RefusedError` when it lies in the data. */
export function refusalOf(cause: unknown): unknown {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  const isOfData =
    (typeof code === 'string' && REFUSALS.test(code)) ||
    cause instanceof TypeError ||
    // What the library says, without a code, of a value that is none of SQLite's.
    /can only bind/.test(String(message))
  return isOfData ? new RefusedError(String(message), { cause }) : cause
}

// A separate entry point, so that other programs do not load `node:fs`.

export type { Clock } from './runtime/clock.ts'
export type { Journal, JournalClient, JournalRecord, RecoveredMessage, Spool } from './settings/journal.ts'
export { FileSpool } from './spool/file-spool.ts'

// A separate entry point, so that other programs do not load `node:fs`.

export type { Spool } from './settings/journal.ts'
export { FileSpool } from './spool/file-spool.ts'

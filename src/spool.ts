// A separate entry point, so that other programs do not load `node:fs`.

export type {
  RecoveredMessage,
  Spool,
  SpoolClient,
  SpoolConnection,
  SpoolRecord,
} from './line/spool.ts'
export { connect } from './spool/connection.ts'
export { FileSpool, type FileSpoolStats } from './spool/file-spool.ts'
export type { FileSpoolOptions } from './spool/options.ts'

// An entry of its own, `trackpost/spool`: what does not import it does not load it, nor `node:fs`.
export { connect } from './spool/connection.ts'
export { FileSpool, type FileSpoolStats } from './spool/file-spool.ts'
export type { FileSpoolOptions } from './spool/options.ts'
export type {
  RecoveredMessage,
  Spool,
  SpoolClient,
  SpoolConnection,
  SpoolRecord,
} from './spool/spool.ts'

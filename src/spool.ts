// The entry point `trackpost/spool`: programs that do not import it load neither it nor `node:fs`.
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

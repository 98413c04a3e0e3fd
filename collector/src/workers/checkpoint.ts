/**
 * Folds the log into the database file, in a thread of its own: it waits for the disk, which the thread that answers
 * requests must not.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { Database } from '../store/sqlite/database.ts'

const database = new Database((workerData as { path: string }).path)

parentPort?.on('message', (message: 'checkpoint' | 'close') => {
  if (message === 'close') {
    database.close()
    parentPort?.close()
    return
  }
  try {
    // Passive: takes what is committed and holds up neither readers nor the writer.
    database.pragma('wal_checkpoint(PASSIVE)')
    parentPort?.postMessage({ done: true })
  } catch (cause) {
    parentPort?.postMessage({ done: false, cause })
  }
})

/**
 * Folds the log into the database file, in a thread of its own: it waits for the disk, which the thread that answers
 * requests must not.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { PassResult } from '../store/sqlite/checkpointer.ts'
import { Database } from '../store/sqlite/database.ts'

const database = new Database((workerData as { path: string }).path)

function pass(): PassResult {
  try {
    // Passive: takes what is committed and holds up neither readers nor the writer.
    const [result] = database.pragma<{ log: number; checkpointed: number }>('wal_checkpoint(PASSIVE)')
    const { log, checkpointed } = result as { log: number; checkpointed: number }
    return { isWhole: log === checkpointed, logPages: log }
  } catch (cause) {
    return { cause }
  }
}

parentPort?.on('message', (message: 'checkpoint' | 'close') => {
  if (message === 'checkpoint') return parentPort?.postMessage(pass())
  database.close()
  parentPort?.close()
})

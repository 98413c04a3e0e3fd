/**
 * Writes the write-ahead log of SQLite into the database file (a checkpoint). Runs in a separate thread, because a checkpoint
 * waits for the disk, and the thread that handles requests must not wait.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { CheckpointTask, PassResult } from '../store/sqlite/checkpointer.ts'
import { forOtherThread, openAgain } from '../store/sqlite/database.ts'

/** Short, because the statements of readers are short. */
const READER_WAIT_MS = 5
/**
 * PASSIVE checkpoints the committed transactions, and blocks neither readers nor the writer. RESTART waits for readers, and
 * blocks the writer.
 */
const MODES: Readonly<Record<CheckpointTask, string>> = { pass: 'PASSIVE', empty: 'RESTART' }

const database = openAgain((workerData as { path: string }).path)
database.pragma(`busy_timeout = ${READER_WAIT_MS}`)

function run(task: CheckpointTask): PassResult {
  try {
    const [result] = database.pragma<{ log: number; checkpointed: number }>(`wal_checkpoint(${MODES[task]})`)
    const { log, checkpointed } = result as { log: number; checkpointed: number }
    return { isWhole: log === checkpointed, logPages: log }
  } catch (cause) {
    return { cause: forOtherThread(cause) }
  }
}

parentPort?.on('message', (message: CheckpointTask | 'close') => {
  if (message !== 'close') return parentPort?.postMessage(run(message))
  database.close()
  parentPort?.close()
})

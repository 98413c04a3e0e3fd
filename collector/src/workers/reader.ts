/** The thread that answers queries, with its own connection, so that slow queries do not delay POST requests. */
import { constants, setPriority } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { TrackingPlan } from '../plan/plan.ts'
import { SearchSyntaxError } from '../search/syntax.ts'
import { openForReading } from '../store/sqlite/database.ts'
import {
  type Cancellation,
  type QueryMessage,
  type ReaderWorkerData,
  type Reply,
  runQuery,
} from '../store/sqlite/reader.ts'

yieldToPosts()
const { path, plan: planFile, queryMs } = workerData as ReaderWorkerData
const database = openForReading(path)
const plan = planFile === null ? null : new TrackingPlan(planFile)

/** One controller for each running query, by the id of the query. */
const underWay = new Map<number, AbortController>()

parentPort?.on('message', (message: QueryMessage | Cancellation | 'close') => {
  if (message === 'close') {
    database.close()
    // Exits also during a query, between two of its statements.
    process.exit()
  }
  if ('cancel' in message) return underWay.get(message.cancel)?.abort()
  const stop = new AbortController()
  underWay.set(message.id, stop)
  void answer(message, stop.signal).then((reply) => {
    underWay.delete(message.id)
    parentPort?.postMessage(reply)
  })
})

async function answer({ id, ...query }: QueryMessage, signal: AbortSignal): Promise<Reply> {
  try {
    // A query that is cancelled in the same turn never starts.
    await nextTurn()
    return { id, result: await runQuery(database, query, plan, queryMs, signal) }
  } catch (cause) {
    const { message } = cause as Error
    if (!(cause instanceof SearchSyntaxError)) return { id, error: { message } }
    return { id, error: { message, position: cause.position, length: cause.length } }
  }
}

/** Lowers the priority of queries: if processors are busy, a client that waits for its 200 comes first. */
function yieldToPosts(): void {
  // Only on Linux does this set the priority of the calling thread; elsewhere it would be that of the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // A sandbox may forbid it. Queries then have the same priority as everything else.
  }
}

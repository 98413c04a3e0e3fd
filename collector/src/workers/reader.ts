/** The thread that runs queries. It has its own connection to the database, so that slow queries do not delay POST requests. */
import { constants, setPriority } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { useMark } from '../json/exact-json.ts'
import { TrackingPlan } from '../plan/plan.ts'
import { SearchSyntaxError } from '../search/syntax.ts'
import { type Database, forOtherThread, openForReading } from '../store/sqlite/database.ts'
import {
  type Cancellation,
  type QueryMessage,
  type ReaderWorkerData,
  type Reply,
  runQuery,
} from '../store/sqlite/reader.ts'

yieldToPosts()
const { path, plan: planFile, queryMs, mark } = workerData as ReaderWorkerData
useMark(mark)
const database = open()
const plan = planFile === null ? null : new TrackingPlan(planFile)

/** Running queries by their ids. */
const underWay = new Map<number, AbortController>()

parentPort?.on('message', (message: QueryMessage | Cancellation | 'close') => {
  if (message === 'close') {
    database.close()
    // Ends the thread even during a query, between two statements.
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
    // A query that is cancelled during this turn never starts.
    await nextTurn()
    return { id, result: await runQuery(database, query, plan, queryMs, signal) }
  } catch (cause) {
    const { message } = cause as Error
    if (!(cause instanceof SearchSyntaxError)) return { id, error: { message } }
    return { id, error: { message, position: cause.position, length: cause.length } }
  }
}

function open(): Database {
  try {
    return openForReading(path)
  } catch (cause) {
    throw forOtherThread(cause)
  }
}

/** Lowers the priority of queries, so that writing events comes first if the processors are busy: clients wait for that. */
function yieldToPosts(): void {
  // On Linux, this sets the priority of the calling thread. On other systems, it would change that of the whole process.
  if (process.platform !== 'linux') return
  try {
    setPriority(constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // A sandbox may forbid this. Queries then have the same priority as other work.
  }
}

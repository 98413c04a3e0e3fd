import { Worker } from 'node:worker_threads'
import { mark } from '../../json/exact-json.ts'
import type { TrackingPlan, TrackingPlanFile } from '../../plan/plan.ts'
import { SearchSyntaxError } from '../../search/syntax.ts'
import { workerUrl } from '../../worker-url.ts'
import { Budget, QUERY_MS } from '../budget.ts'
import { type InNumbers, inNumbers } from '../cursor.ts'
import type { EventReader, QueryName, QueryParameters, QueryResult } from '../event-reader.ts'
import type { QueryContext } from '../queries/context.ts'
import { stepsOf } from '../queries/index.ts'
import type { Query } from '../sql.ts'
import type { Database } from './database.ts'
import { dialectOf } from './dialect.ts'
import { executorOn, runInTurns, runNow } from './steps.ts'

/** Runs a query in turns with other queries. */
export function runQuery<N extends QueryName>(
  database: Database,
  { name, parameters, nowMs }: Omit<QueryMessage<N>, 'id'>,
  plan: TrackingPlan | null,
  queryMs = QUERY_MS,
  signal?: AbortSignal,
): Promise<QueryResult<N>> {
  const context = { dialect: dialectOf(database), nowMs, plan, budget: new Budget(queryMs) }
  return runInTurns(stepsOf(context, name, parameters), executorOn(database), signal)
}

export function runQueryNow<T>(
  database: Database,
  nowMs: number,
  query: (context: QueryContext) => Query<T>,
): T {
  const budget = new Budget(Number.POSITIVE_INFINITY)
  return runNow(query({ dialect: dialectOf(database), nowMs, plan: null, budget }), executorOn(database))
}

export interface FileReader extends EventReader {
  /** Opens the file again after it was replaced. */
  reopen(): void
  close(): Promise<void>
}

/** A reader for a database in memory, on its only connection. A long query takes several turns of the event loop. */
export class InlineReader implements FileReader {
  readonly #database: Database
  readonly #now: () => number
  readonly #plan: TrackingPlan | null
  readonly #queryMs: number | undefined

  constructor(database: Database, now: () => number, plan: TrackingPlan | null, queryMs?: number) {
    this.#database = database
    this.#now = now
    this.#plan = plan
    this.#queryMs = queryMs
  }

  async ask<N extends QueryName>(
    name: N,
    parameters: QueryParameters<N>,
    signal?: AbortSignal,
  ): Promise<QueryResult<N>> {
    return runQuery(
      this.#database,
      { name, parameters: inNumbers(parameters), nowMs: this.#now() },
      this.#plan,
      this.#queryMs,
      signal,
    )
  }

  reopen(): void {}

  async close(): Promise<void> {}
}

/** To the reader thread: run this query. */
export interface QueryMessage<N extends QueryName = QueryName> {
  id: number
  nowMs: number
  name: N
  parameters: InNumbers<QueryParameters<N>>
}

/** To the reader thread: stop the query with this id. */
export interface Cancellation {
  cancel: number
}

/** From the reader thread. An error is sent as a plain object, because the class of an error is lost between threads. */
export type Reply =
  | { id: number; result: unknown }
  | { id: number; error: { message: string; position?: number; length?: number } }

export interface ReaderWorkerData {
  path: string
  plan: TrackingPlanFile | null
  queryMs?: number | undefined
  /** See `useMark`. */
  mark: string
}

interface Pending {
  signal: AbortSignal | undefined
  cancel(): void
  resolve(result: never): void
  reject(cause: unknown): void
}

/** Runs queries in a separate thread, on a separate connection. The thread starts with the first query. */
export class WorkerReader implements FileReader {
  readonly #data: ReaderWorkerData
  readonly #now: () => number
  readonly #onFault: (what: string, cause: unknown) => void
  readonly #pending = new Map<number, Pending>()
  #worker: Worker | undefined
  #lastId = 0
  #isClosed = false

  constructor(
    data: Omit<ReaderWorkerData, 'mark'>,
    now: () => number,
    onFault: (what: string, cause: unknown) => void,
  ) {
    this.#data = { ...data, mark: mark() }
    this.#now = now
    this.#onFault = onFault
  }

  async ask<N extends QueryName>(
    name: N,
    given: QueryParameters<N>,
    signal?: AbortSignal,
  ): Promise<QueryResult<N>> {
    if (this.#isClosed) throw new Error('the collector was closed')
    signal?.throwIfAborted()
    const parameters = inNumbers(given)
    const worker = this.#start()
    return new Promise<QueryResult<N>>((resolve, reject) => {
      this.#lastId++
      const id = this.#lastId
      // The thread replies to a cancelled query too, so the promise settles when the thread has stopped it.
      const cancel = () => worker.postMessage({ cancel: id } satisfies Cancellation)
      this.#pending.set(id, { signal, cancel, resolve, reject })
      signal?.addEventListener('abort', cancel)
      // The process must not end while a caller waits.
      worker.ref()
      worker.postMessage({ id, nowMs: this.#now(), name, parameters } satisfies QueryMessage<N>)
    })
  }

  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(workerUrl('reader'), { workerData: this.#data })
    this.#worker = worker
    worker.unref()
    worker.on('message', (reply: Reply) => this.#settle(reply))
    worker.on('error', (cause) => {
      this.#onFault('the thread that answers queries ended', cause)
      this.#fail(cause)
    })
    // After an error, another thread may answer the queries already.
    worker.on('exit', () => {
      if (this.#worker === worker) this.#fail(new Error('the thread that answers queries ended'))
    })
    return worker
  }

  #settle(reply: Reply): void {
    const pending = this.#pending.get(reply.id)
    this.#pending.delete(reply.id)
    if (this.#pending.size === 0) this.#worker?.unref()
    if (pending === undefined) return
    const { signal, cancel, resolve, reject } = pending
    signal?.removeEventListener('abort', cancel)
    if ('result' in reply) return resolve(reply.result as never)
    if (signal?.aborted) return reject(signal.reason)
    const { message, position, length } = reply.error
    reject(
      position === undefined ? new Error(message) : new SearchSyntaxError(message, position, length ?? 0),
    )
  }

  /** Rejects all waiting queries; the next query starts another thread. */
  #fail(cause: unknown): void {
    this.#worker = undefined
    const waiting = [...this.#pending.values()]
    this.#pending.clear()
    for (const { signal, cancel, reject } of waiting) {
      signal?.removeEventListener('abort', cancel)
      reject(cause)
    }
  }

  reopen(): void {
    const worker = this.#worker
    this.#fail(new Error('the database file was replaced'))
    if (worker !== undefined) void ended(worker)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#worker !== undefined) await ended(this.#worker)
  }
}

/** Asks the thread to end. `worker.terminate()` is not used, because `libsql` crashes when it is terminated in a statement. */
function ended(worker: Worker): Promise<void> {
  return new Promise((resolve) => {
    worker.once('exit', () => resolve())
    worker.ref()
    worker.postMessage('close')
  })
}

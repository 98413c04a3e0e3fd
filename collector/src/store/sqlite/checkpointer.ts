import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.ts'
import { workerUrl } from '../../worker-url.ts'

/** Committed events after which the next checkpoint begins. */
const EVENTS_BETWEEN = 20_000
/**
 * If the write-ahead log has at least this many pages (4 KB each, 192 MB together), it is checkpointed completely. A shorter
 * log may grow further, because holding commits costs more than the space.
 */
const MAX_LOG_PAGES = 49_152
/** Each commit counts as this many additional events, because the log receives every page that the commit changes. */
const EVENTS_PER_COMMIT = 30
/** Number of passes before commits are held. Each further pass copies only the commits made during the previous one. */
const FREE_PASSES = 3
/** The time limit of the first hold. If a hold was too short, the next one is `HOLD_GROWTH` times as long. */
const FIRST_HOLD_MS = 30
const HOLD_GROWTH = 1.5
/** How long to wait for a query that reads from the log. Queries consist of short statements. */
const READER_MOVES_ON_MS = 20
const READER_MOVES_ON_IN_HOLD_MS = 1
/** Passes in one checkpoint. After these, the log may grow until the next checkpoint. */
const MAX_PASSES = 100

/** `isWhole`: the database file has everything that was committed before the pass. */
export type PassResult = { isWhole: boolean; logPages: number } | { cause: unknown }

export interface HeldWriter {
  hold(): void
  resume(): void
}

/**
 * `pass` copies the log into the database file. `empty` waits briefly until no query reads from the log, so that the next
 * commit overwrites the log from its beginning.
 */
export type CheckpointTask = 'pass' | 'empty'

export function checkpointThread(path: string): Worker {
  return new Worker(workerUrl('checkpoint'), { workerData: { path } })
}

interface Checkpoint {
  passes: number
  /** `held`: commits are held. `after hold`: a hold has reached its time limit, and the next pass runs without a hold. */
  phase: 'free' | 'held' | 'after hold'
  /** Whether the file has everything, and the thread waits for queries that still read from the log (task `empty`). */
  isEmptying: boolean
  nextHoldMs: number
  cancelHold(): void
  cancelRetry(): void
}

export interface CheckpointerParts {
  newThread(): Worker
  writer: HeldWriter
  clock: Clock
  onFault(what: string, cause: unknown): void
  /** Default: `MAX_LOG_PAGES`. */
  maxLogPages?: number | undefined
}

/**
 * Checkpoints the write-ahead log of SQLite while events come in: copies the log into the database file.
 *
 * The copying waits for the disk, so a separate thread does it. Most of the log is copied while commits continue. But SQLite
 * overwrites the log from its beginning only after copying all of it; until then, the log grows. So when the log has become
 * long, commits are held while the rest is copied.
 *
 * During a hold, all clients with uncommitted events wait. So holds are rare, and each hold has a time limit of some
 * milliseconds. If the time is not enough, a later hold can finish the checkpoint.
 */
export class Checkpointer {
  readonly #parts: CheckpointerParts
  #worker: Worker | undefined
  #ended: Promise<void> = Promise.resolve()
  #eventsSince = 0
  #checkpoint: Checkpoint | undefined
  #isTaskRunning = false
  /** Whether there was a commit since the last pass began. */
  #hasCommitted = false
  #isClosed = false

  constructor(parts: CheckpointerParts) {
    this.#parts = parts
    this.#start()
  }

  /** A thread that has died is not restarted at once, because the cause may still exist. */
  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const { onFault } = this.#parts
    const worker = this.#parts.newThread()
    this.#worker = worker
    worker.unref()
    worker.on('message', (result: PassResult) => {
      this.#isTaskRunning = false
      if ('cause' in result) {
        onFault('the log could not be checkpointed', result.cause)
        this.#finish()
      } else this.#passed(result)
    })
    let cause: unknown = new Error('it was stopped')
    worker.on('error', (error) => {
      cause = error
    })
    // The listener is added when the thread starts, because in `close` the thread may have ended already.
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#worker = undefined
        this.#isTaskRunning = false
        this.#finish()
        if (!this.#isClosed) onFault('the checkpoint thread ended', cause)
        resolve()
      })
    })
    return worker
  }

  committed(events: number): void {
    this.#eventsSince += events + EVENTS_PER_COMMIT
    this.#hasCommitted = true
    if (this.#isClosed || this.#checkpoint !== undefined || this.#eventsSince < EVENTS_BETWEEN) return
    this.#eventsSince = 0
    const nothing = () => {}
    this.#checkpoint = {
      passes: 0,
      phase: 'free',
      isEmptying: false,
      nextHoldMs: FIRST_HOLD_MS,
      cancelHold: nothing,
      cancelRetry: nothing,
    }
    this.#pass(this.#checkpoint)
  }

  #pass(checkpoint: Checkpoint): void {
    checkpoint.passes++
    if (checkpoint.passes > MAX_PASSES) return this.#finish()
    if (checkpoint.phase === 'after hold') checkpoint.phase = 'free'
    else if (checkpoint.phase === 'free' && checkpoint.passes > FREE_PASSES) this.#hold(checkpoint)
    this.#hasCommitted = false
    this.#ask('pass')
  }

  #ask(task: CheckpointTask): void {
    this.#isTaskRunning = true
    this.#start().postMessage(task)
  }

  #hold(checkpoint: Checkpoint): void {
    const { writer, clock } = this.#parts
    checkpoint.phase = 'held'
    writer.hold()
    checkpoint.cancelHold = clock.setTimer(() => {
      checkpoint.phase = 'after hold'
      // If a task still runs, it needed more time. If none runs, a query read from the log, and a longer hold would not help.
      if (this.#isTaskRunning) checkpoint.nextHoldMs *= HOLD_GROWTH
      writer.resume()
    }, checkpoint.nextHoldMs)
  }

  /** A pass is not whole if a query still reads from a part of the log. */
  #passed({ isWhole, logPages }: { isWhole: boolean; logPages: number }): void {
    const checkpoint = this.#checkpoint
    if (checkpoint === undefined) return
    if (isWhole && !this.#hasCommitted) {
      if (checkpoint.phase !== 'held' || checkpoint.isEmptying) return this.#finish()
      checkpoint.isEmptying = true
      return this.#ask('empty')
    }
    checkpoint.isEmptying = false
    const { maxLogPages = MAX_LOG_PAGES } = this.#parts
    if (logPages < maxLogPages) return this.#finish()
    if (isWhole) return this.#pass(checkpoint)
    const waitMs = checkpoint.phase === 'held' ? READER_MOVES_ON_IN_HOLD_MS : READER_MOVES_ON_MS
    checkpoint.cancelRetry = this.#parts.clock.setTimer(() => this.#pass(checkpoint), waitMs)
  }

  #finish(): void {
    const checkpoint = this.#checkpoint
    if (checkpoint === undefined) return
    this.#checkpoint = undefined
    checkpoint.cancelHold()
    checkpoint.cancelRetry()
    if (checkpoint.phase === 'held') this.#parts.writer.resume()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#finish()
    // The process must not end before the thread has closed the file.
    this.#worker?.ref()
    this.#worker?.postMessage('close')
    await this.#ended
  }
}

import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.ts'
import { workerUrl } from '../../worker-url.ts'

/** Events between two checkpoints. */
const EVENTS_BETWEEN = 20_000
/** Pages of 4 KB from which a log is checkpointed completely: 192 MB. The space of a shorter one is not worth a hold. */
const MAX_LOG_PAGES = 49_152
/** The cost of a commit itself, counted in events: the log gets every page that it touches. */
const EVENTS_PER_COMMIT = 30
/** Passes before a hold, while events come in. Each pass leaves only the commits made during it, fewer than the pass before. */
const FREE_PASSES = 3
/** The time limit of the first hold. Each time a hold was too short, the next is longer. */
const FIRST_HOLD_MS = 30
const HOLD_GROWTH = 1.5
/** The wait for a query that reads from the log. It is short, as queries consist of short statements. */
const READER_MOVES_ON_MS = 20
const READER_MOVES_ON_IN_HOLD_MS = 1
/** The limit on passes of one checkpoint. After it, the log may grow until the next checkpoint. */
const MAX_PASSES = 100

/** The result of a pass: whether everything committed before it began is in the file now, and how long the log is. */
export type PassResult = { isWhole: boolean; logPages: number } | { cause: unknown }

/** The part of the writer that holds commits. */
export interface HeldWriter {
  hold(): void
  resume(): void
}

/**
 * A task of the thread. `pass` copies the log into the file; `empty` waits briefly until no query reads from the log, so that
 * the next commit starts the log over.
 */
export type CheckpointTask = 'pass' | 'empty'

/** Starts a thread that checkpoints the log of this file, on request. */
export function checkpointThread(path: string): Worker {
  return new Worker(workerUrl('checkpoint'), { workerData: { path } })
}

/** One checkpoint, in several passes. */
interface Checkpoint {
  passes: number
  /** `held`: nothing is committed. `after hold`: commits go on during the next pass. */
  phase: 'free' | 'held' | 'after hold'
  /** Everything is in the file, and the thread waits for queries that read from the log. */
  isEmptying: boolean
  nextHoldMs: number
  cancelHold(): void
  cancelRetry(): void
}

/** Options of a checkpointer. */
export interface CheckpointerParts {
  /** Starts the thread; see `checkpointThread`. */
  newThread(): Worker
  writer: HeldWriter
  clock: Clock
  onFault(what: string, cause: unknown): void
  /** Pages from which the log is checkpointed completely; by default 192 MB. */
  maxLogPages?: number | undefined
}

/**
 * Has the write-ahead log checkpointed, that is copied into the database file, while events come in.
 *
 * A separate thread does this, as it waits for the disk. Most of the log is copied while commits continue. But only a log that
 * is copied completely is written from its beginning again, and stops growing. So when the log has become long, commits (not
 * the event loop) are held while the rest is copied.
 *
 * During a hold, all clients with uncommitted events wait: for the last pass, which syncs the whole file to the disk, and then
 * for the first commit, which syncs the beginning of the log. So holds are rare, and each ends after some milliseconds in any
 * case. By then nearly everything is on the disk, and the next hold can be short.
 */
export class Checkpointer {
  readonly #parts: CheckpointerParts
  #worker: Worker | undefined
  /** Resolves when the thread has ended, by itself or not. */
  #ended: Promise<void> = Promise.resolve()
  #eventsSince = 0
  /** Undefined = there is none at the moment. */
  #checkpoint: Checkpoint | undefined
  #isTaskRunning = false
  /** Whether there was a commit after the last pass had begun. */
  #hasCommitted = false
  #isClosed = false

  constructor(parts: CheckpointerParts) {
    this.#parts = parts
    this.#start()
  }

  /** A thread that has died is restarted only when it is needed: the cause may still exist. */
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
    // Created with the thread: `close` must not wait for the `exit` of a thread that has already ended.
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

  /** Reports a commit and the number of its events. */
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
      // A task still runs: it needed more time. Without one, a reader was in the way, and a longer hold does not help.
      if (this.#isTaskRunning) checkpoint.nextHoldMs *= HOLD_GROWTH
      writer.resume()
    }, checkpoint.nextHoldMs)
  }

  /** A pass is incomplete when a query reads from the log: that part cannot be copied. */
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
    // So far the thread did not keep the process alive; from now on it does.
    this.#worker?.ref()
    this.#worker?.postMessage('close')
    await this.#ended
  }
}

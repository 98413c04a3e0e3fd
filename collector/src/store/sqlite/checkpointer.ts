import { Worker } from 'node:worker_threads'
import type { Clock } from '../../clock.ts'
import { workerUrl } from '../../worker-url.ts'

/** Events between two folds. */
const EVENTS_BETWEEN = 20_000
/** Pages of 4 KB from which on the log is brought to its end: 192 MB. The room of a shorter one is not worth a hold. */
const MAX_LOG_PAGES = 49_152
/** The cost of a commit in the log beside its events, counted in events: every page that it touches. */
const EVENTS_PER_COMMIT = 30
/** Passes before a hold, while events come in; each leaves what was committed meanwhile, and that is less each time. */
const FREE_PASSES = 3
/** The first time commits are held up, for so long at most; each time that was too short, the next one is longer. */
const FIRST_HOLD_MS = 30
const HOLD_GROWTH = 1.5
/** A search that reads what is in the log is in the way. It has moved on soon: it is made of short statements. */
const READER_MOVES_ON_MS = 20
const READER_MOVES_ON_IN_HOLD_MS = 1
/** Then the log is left to grow until the next time. */
const MAX_PASSES = 100

/** The result of a pass of the thread: whether all that had been committed when it began is in the file now, and how long the log is. */
export type PassResult = { isWhole: boolean; logPages: number } | { cause: unknown }

/** The writer, as far as it must leave the log alone. */
export interface HeldWriter {
  hold(): void
  resume(): void
}

/**
 * A task of the thread: a pass, or to wait briefly until nobody reads in the log, after which the next commit begins it
 * anew. Readers that come then find all in the file.
 */
export type CheckpointTask = 'pass' | 'empty'

/** Starts a thread that folds in the log of this file whenever it is told to. */
export function checkpointThread(path: string): Worker {
  return new Worker(workerUrl('checkpoint'), { workerData: { path } })
}

/** One time that the log is folded in. */
interface Fold {
  passes: number
  /** `held`: nothing is committed. `after hold`: it was, and the next pass is a free one again. */
  phase: 'free' | 'held' | 'after hold'
  /** All is in the file, and the thread waits for those who read in the log. */
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
  /** Pages of the log from which on it is brought to its end; 192 MB of them by default. */
  maxLogPages?: number | undefined
}

/**
 * Has the log folded into the database file while events come in.
 *
 * Another thread does it: it waits for the disk. The bulk is folded in while commits go on. When the log has become long they
 * are held up for the remainder, not the loop: the log must come to an end once, so that it is written from its beginning
 * again and does not grow for ever. That is rare, since everybody waits for it: for the disk to have all of the file, and then for
 * the first commit, which has the disk take the beginning of the log before it goes on.
 *
 * The pass that comes to the end has to wait until the disk has all of the file, which can take long, and everybody whose events
 * are not committed waits with it. So a hold ends after some milliseconds whatever has become of it. The disk then has nearly
 * everything, and the next hold is over soon.
 */
export class Checkpointer {
  readonly #parts: CheckpointerParts
  #worker: Worker | undefined
  /** Resolves when the thread has ended, by itself or not. */
  #ended: Promise<void> = Promise.resolve()
  #eventsSince = 0
  /** Undefined = nothing is folded in at the moment. */
  #fold: Fold | undefined
  #isPassing = false
  /** Whether there was a commit after the last pass had begun. */
  #hasCommitted = false
  #isClosed = false

  constructor(parts: CheckpointerParts) {
    this.#parts = parts
    this.#start()
  }

  /** A thread that has died is started anew when it is needed, not sooner: what killed it may still be there. */
  #start(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const { onFault } = this.#parts
    const worker = this.#parts.newThread()
    this.#worker = worker
    worker.unref()
    worker.on('message', (result: PassResult) => {
      this.#isPassing = false
      if ('cause' in result) {
        onFault('the log could not be folded into the database', result.cause)
        this.#finish()
      } else this.#passed(result)
    })
    let cause: unknown = new Error('it was stopped')
    worker.on('error', (error) => {
      cause = error
    })
    // From the start on: a thread that has ended before it is asked to is not waited for.
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#worker = undefined
        this.#isPassing = false
        this.#finish()
        if (!this.#isClosed) onFault('the checkpoint thread ended', cause)
        resolve()
      })
    })
    return worker
  }

  /** Told of a commit, and how many events were in it. */
  committed(events: number): void {
    this.#eventsSince += events + EVENTS_PER_COMMIT
    this.#hasCommitted = true
    if (this.#isClosed || this.#fold !== undefined || this.#eventsSince < EVENTS_BETWEEN) return
    this.#eventsSince = 0
    const nothing = () => {}
    this.#fold = {
      passes: 0,
      phase: 'free',
      isEmptying: false,
      nextHoldMs: FIRST_HOLD_MS,
      cancelHold: nothing,
      cancelRetry: nothing,
    }
    this.#pass(this.#fold)
  }

  #pass(fold: Fold): void {
    fold.passes++
    if (fold.passes > MAX_PASSES) return this.#finish()
    if (fold.phase === 'after hold') fold.phase = 'free'
    else if (fold.phase === 'free' && fold.passes > FREE_PASSES) this.#hold(fold)
    this.#hasCommitted = false
    this.#ask('pass')
  }

  #ask(task: CheckpointTask): void {
    this.#isPassing = true
    this.#start().postMessage(task)
  }

  #hold(fold: Fold): void {
    const { writer, clock } = this.#parts
    fold.phase = 'held'
    writer.hold()
    fold.cancelHold = clock.setTimer(() => {
      fold.phase = 'after hold'
      // With a reader in the way more time would not have helped.
      if (this.#isPassing) fold.nextHoldMs *= HOLD_GROWTH
      writer.resume()
    }, fold.nextHoldMs)
  }

  /** A pass is not whole when somebody reads what is in the log, and keeps it from being folded in. */
  #passed({ isWhole, logPages }: { isWhole: boolean; logPages: number }): void {
    const fold = this.#fold
    if (fold === undefined) return
    if (isWhole && !this.#hasCommitted) {
      if (fold.phase !== 'held' || fold.isEmptying) return this.#finish()
      fold.isEmptying = true
      return this.#ask('empty')
    }
    fold.isEmptying = false
    const { maxLogPages = MAX_LOG_PAGES } = this.#parts
    if (logPages < maxLogPages) return this.#finish()
    if (isWhole) return this.#pass(fold)
    const waitMs = fold.phase === 'held' ? READER_MOVES_ON_IN_HOLD_MS : READER_MOVES_ON_MS
    fold.cancelRetry = this.#parts.clock.setTimer(() => this.#pass(fold), waitMs)
  }

  #finish(): void {
    const fold = this.#fold
    if (fold === undefined) return
    this.#fold = undefined
    fold.cancelHold()
    fold.cancelRetry()
    if (fold.phase === 'held') this.#parts.writer.resume()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#finish()
    // Let go of so far; now the end of the process waits for it.
    this.#worker?.ref()
    this.#worker?.postMessage('close')
    await this.#ended
  }
}

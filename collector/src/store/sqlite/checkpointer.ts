import { Worker } from 'node:worker_threads'
import { workerUrl } from '../../worker-url.ts'

/** Events between two checkpoints; some 16 MB of log. */
const EVENTS_BETWEEN = 20_000
/** What a commit adds to the log beside its events, counted in events: every page that it touches, however little of it. */
const EVENTS_PER_COMMIT = 30
/** Passes while events come in; each leaves what was committed meanwhile, and that is less each time. */
const FREE_PASSES = 2

/** What a pass of the thread came to: whether all that had been committed when it began is in the file now. */
export type PassResult = { isWhole: boolean } | { cause: unknown }

/** The writer, as far as it must leave the log alone. */
export interface HeldWriter {
  hold(): void
  resume(): void
}

/**
 * Has the log folded into the database file while events come in.
 *
 * Another thread does it: it waits for the disk. The bulk is folded in while commits go on. For the remainder they are held
 * up, not the loop: the log must come to an end once, so that it is written from its beginning again and stays small.
 */
export class Checkpointer {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  readonly #writer: HeldWriter
  #eventsSince = 0
  /** Passes of the checkpoint that is under way; undefined = none is. */
  #passes: number | undefined
  /** Whether there was a commit after the last pass had begun. */
  #hasCommitted = false

  constructor(path: string, writer: HeldWriter, onFault: (what: string, cause: unknown) => void) {
    this.#writer = writer
    this.#worker = new Worker(workerUrl('checkpoint'), { workerData: { path } })
    // From the start on: a thread that has ended before it is asked to is not waited for.
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    this.#worker.unref()
    this.#worker.on('message', (result: PassResult) => {
      if ('cause' in result) onFault('the log could not be folded into the database', result.cause)
      this.#passed('isWhole' in result && result.isWhole)
    })
    this.#worker.on('error', (cause) => {
      this.#passed(false)
      onFault('the checkpoint thread ended', cause)
    })
  }

  /** Told of a commit, and how many events were in it. */
  committed(events: number): void {
    this.#eventsSince += events + EVENTS_PER_COMMIT
    this.#hasCommitted = true
    if (this.#passes === undefined && this.#eventsSince >= EVENTS_BETWEEN) {
      this.#eventsSince = 0
      this.#passes = 0
      this.#pass()
    }
  }

  #pass(): void {
    this.#hasCommitted = false
    this.#worker.postMessage('checkpoint')
  }

  /** @param isWhole False when somebody reads what is in the log, and keeps it from being folded in. */
  #passed(isWhole: boolean): void {
    if (this.#passes === undefined) return
    this.#passes++
    if (!isWhole || !this.#hasCommitted || this.#passes > FREE_PASSES) {
      this.#passes = undefined
      this.#writer.resume()
      return
    }
    if (this.#passes === FREE_PASSES) this.#writer.hold()
    this.#pass()
  }

  async close(): Promise<void> {
    this.#writer.resume()
    // Let go of so far; now the end of the process waits for it.
    this.#worker.ref()
    this.#worker.postMessage('close')
    await this.#ended
  }
}

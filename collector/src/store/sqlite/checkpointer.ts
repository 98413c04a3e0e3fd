import { Worker } from 'node:worker_threads'
import { workerUrl } from '../../worker-url.ts'

/** Events between two checkpoints; some 8 MB of log. */
const EVENTS_BETWEEN = 10_000
/** What a commit adds to the log beside its events, counted in events: every page that it touches, however little of it. */
const EVENTS_PER_COMMIT = 30

/**
 * Has the log folded into the database file while events come in.
 *
 * The bulk is done by another thread. What was committed meanwhile is little, and folding that in here brings the log to
 * an end, so that it is written from its beginning again and stays small.
 */
export class Checkpointer {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  #eventsSince = 0
  #isBusy = false

  /** @param finish Folds in the remainder. */
  constructor(path: string, finish: () => void, onFault: (what: string, cause: unknown) => void) {
    this.#worker = new Worker(workerUrl('checkpoint'), { workerData: { path } })
    // From the start on: a thread that has ended before it is asked to is not waited for.
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()))
    this.#worker.unref()
    this.#worker.on('message', (message: { done: boolean; cause?: unknown }) => {
      this.#isBusy = false
      this.#eventsSince = 0
      try {
        if (!message.done) throw message.cause
        finish()
      } catch (cause) {
        onFault('the log could not be folded into the database', cause)
      }
    })
    this.#worker.on('error', (cause) => onFault('the checkpoint thread ended', cause))
  }

  /** Told of a commit, and how many events were in it. */
  committed(events: number): void {
    this.#eventsSince += events + EVENTS_PER_COMMIT
    if (this.#isBusy || this.#eventsSince < EVENTS_BETWEEN) return
    this.#isBusy = true
    this.#worker.postMessage('checkpoint')
  }

  async close(): Promise<void> {
    // Let go of so far; now the end of the process waits for it.
    this.#worker.ref()
    this.#worker.postMessage('close')
    await this.#ended
  }
}

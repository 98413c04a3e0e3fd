import { appendFile, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ClaimedDelivery } from '../store/ports.ts'
import type { BatchSender } from './batch-sender.ts'
import type { AttemptResult } from './webhook.ts'

/** Appends messages to a file, one JSON object a line (NDJSON). */
export class FileSender implements BatchSender {
  readonly limit = 500
  readonly longestMs = 20_000
  readonly intervalMs = 0
  readonly firstDelayMs = 2000
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  async prepare(): Promise<void> {}

  async send(batch: readonly ClaimedDelivery[]): Promise<AttemptResult[]> {
    try {
      await mkdir(dirname(this.#path), { recursive: true })
      await appendFile(this.#path, batch.map(({ body }) => `${body}\n`).join(''))
      return batch.map(() => ({ result: 'delivered' }))
    } catch (cause) {
      // A full disk or a missing mount: the event has no part in it.
      const reason = `cannot be written (${(cause as NodeJS.ErrnoException).code})`
      return batch.map(() => ({ result: 'retry', reason }))
    }
  }

  async close(): Promise<void> {}
}

import { appendFile, mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DueDelivery } from '../store/deliveries.ts'
import { type AttemptResult, DELIVERED, type Sender } from './sender.ts'

/** Appends messages to a file, one JSON object per line (NDJSON). */
export class FileSender implements Sender {
  readonly limit = 500
  readonly firstDelayMs = 2000
  readonly #path: string
  /** Whether the last line may be incomplete, because this process or an earlier one was interrupted while it wrote. */
  #mayBeTorn = true

  constructor(path: string) {
    this.#path = path
  }

  isGivenUp(): boolean {
    return false
  }

  async send(batch: readonly DueDelivery[]): Promise<AttemptResult[]> {
    try {
      await mkdir(dirname(this.#path), { recursive: true })
      const lines = batch.map(({ body }) => `${body}\n`)
      if (this.#mayBeTorn && (await endsMidLine(this.#path))) lines.unshift('\n')
      this.#mayBeTorn = true
      await appendFile(this.#path, lines.join(''))
      this.#mayBeTorn = false
      return batch.map(() => DELIVERED)
    } catch (cause) {
      // For example a full disk or a missing mount. The event is not at fault, so it is tried again.
      const reason = `cannot be written (${(cause as NodeJS.ErrnoException).code})`
      return batch.map(() => ({ result: 'retry', reason }))
    }
  }
}

async function endsMidLine(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  // A pipe or a terminal has no last line.
  if (found === undefined || !found.isFile() || found.size === 0) return false
  const file = await open(path)
  try {
    const { buffer } = await file.read(Buffer.alloc(1), 0, 1, found.size - 1)
    return buffer.toString('latin1') !== '\n'
  } finally {
    await file.close()
  }
}

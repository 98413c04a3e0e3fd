import { randomBytes } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StreamEvent } from '../stream/message.ts'
import { type Destination, type Outcome, WRITTEN } from './destination.ts'

/**
 * Appends messages to files of the folder `file:///data/events`, one JSON object a line (NDJSON). Each file has the events that
 * one worker wrote of one hour (UTC, by `receivedAt`), and is synced before the events are acknowledged.
 */
export class Files implements Destination {
  readonly batchSize = 1000
  readonly #folder: string
  /** A file of its own for each process: if one is killed, its half line is the end of its file. */
  readonly #process = randomBytes(4).toString('hex')

  constructor(address: URL) {
    this.#folder = fileURLToPath(address)
  }

  async write(events: readonly StreamEvent[]): Promise<Outcome[]> {
    const hours = new Map<string, string[]>()
    for (const { receivedAt, source, body } of events) {
      const hour = receivedAt.slice(0, 13)
      const lines = hours.get(hour) ?? []
      hours.set(hour, lines)
      lines.push(`{"source":${JSON.stringify(source)},"message":${body}}\n`)
    }
    await mkdir(this.#folder, { recursive: true })
    for (const [hour, lines] of hours) {
      const file = await open(join(this.#folder, `${hour}.${this.#process}.ndjson`), 'a', 0o600)
      try {
        await file.appendFile(lines.join(''))
        await file.datasync()
      } finally {
        await file.close()
      }
    }
    return events.map(() => WRITTEN)
  }

  async close(): Promise<void> {}
}

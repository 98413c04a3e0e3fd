import { appendFile, mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ClaimedDelivery } from '../store/ports.ts'

/** Appends messages to a file, one JSON object a line (NDJSON). Rejects when it cannot be written. */
export async function appendLines(path: string, deliveries: readonly ClaimedDelivery[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await appendFile(path, deliveries.map(({ body }) => `${body}\n`).join(''))
}

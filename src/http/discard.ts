import { nextTurn } from '../runtime/clock.ts'
import { type HTTPResponse, MAX_REPLY_BYTES } from './client.ts'

/** A stream of the web, or one of Node.js. */
type Cancellable = { cancel(): Promise<void>; destroy(): void }

type Streaming = HTTPResponse & { body?: ReadableStream<Uint8Array> | null }

/**
 * Reads a reply body to its end and throws it away, or cancels it past 64 KiB. Either way the connection is
 * free for the next request, or gone. Never rejects.
 */
export async function discardBody(response: HTTPResponse): Promise<void> {
  try {
    const { body } = response as Streaming
    if (typeof body?.getReader === 'function') await readAll(body)
    // Also where the body is a stream of another kind, as that of node-fetch.
    else if (body !== null) await response.text?.()
  } catch {
    // The outcome was settled by the status; a body that breaks off changes nothing.
  }
}

async function readAll(body: ReadableStream<Uint8Array>): Promise<void> {
  if (body.locked) return
  const reader = body.getReader()
  for (let bytes = 0; bytes <= MAX_REPLY_BYTES; ) {
    const { done, value } = await reader.read()
    if (done) return nextTurn()
    bytes += value.byteLength
  }
  await reader.cancel()
}

/** Gives up a reply that came too late for anyone to want it. Never throws or rejects. */
export function cancelBody(response: unknown): void {
  try {
    const { body } = response as { body?: Partial<Cancellable> | null }
    if (typeof body?.cancel === 'function') Promise.resolve(body.cancel()).catch(() => {})
    else body?.destroy?.()
  } catch {
    // A malformed answer of a custom client.
  }
}

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/** Resolves with true when the client has read the response so far, with false when it has closed the connection. */
export async function drained(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return false
  const gone = new AbortController()
  const leave = () => gone.abort()
  response.once('close', leave)
  try {
    await once(response, 'drain', { signal: gone.signal })
    return true
  } catch {
    return false
  } finally {
    response.off('close', leave)
  }
}

/** Returns a signal that is aborted when the response ends or the client closes the connection. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  if (response.destroyed) gone.abort()
  return gone.signal
}

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'

/** A client that reads nothing must not hold a place for ever. */
export const STALL_MS = 60_000

/**
 * Resolves with true when the client has read the response so far, with false when it has closed the connection. Closes the
 * connection of a client that has not read it within a minute.
 */
export async function drained(response: ServerResponse, setTimer: Clock['setTimer']): Promise<boolean> {
  if (response.destroyed) return false
  const cancel = setTimer(() => response.destroy(), STALL_MS)
  const gone = new AbortController()
  const leave = () => gone.abort()
  response.once('close', leave)
  try {
    await once(response, 'drain', { signal: gone.signal })
    return true
  } catch {
    return false
  } finally {
    cancel()
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

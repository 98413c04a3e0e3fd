import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'

/** A client that reads nothing must not hold a place for ever. */
export const STALL_MS = 60_000

/**
 * Resolves with true when the client has read the response so far, with false when it has gone. Closes the connection of a client
 * that has not read it within a minute.
 */
export async function drained(
  response: ServerResponse,
  gone: AbortSignal,
  setTimer: Clock['setTimer'],
): Promise<boolean> {
  const cancel = setTimer(() => response.destroy(), STALL_MS)
  return once(response, 'drain', { signal: gone })
    .then(
      () => true,
      () => false,
    )
    .finally(cancel)
}

/** Returns a signal that is aborted when the response ends or the client closes the connection. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  if (response.destroyed) gone.abort()
  return gone.signal
}

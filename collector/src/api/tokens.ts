import type { IncomingMessage, ServerResponse } from 'node:http'
import { HttpProblem, replyJson, requireMethod } from '../http/reply.ts'

const RETRY_SECONDS = 5

/**
 * Handles `DELETE /api/tokens`, which revokes all tokens. Returns false for all other paths.
 *
 * @param revoke Undefined if the collector issues no tokens.
 */
export function handleTokens(
  revoke: (() => void) | undefined,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  if (path !== '/api/tokens') return false
  requireMethod(request, 'DELETE')
  if (revoke === undefined) throw new HttpProblem(404, 'no_oauth', 'the config has no oauth')
  try {
    revoke()
  } catch (cause) {
    const message = `the tokens could not be revoked (${(cause as Error).message})`
    throw new HttpProblem(503, 'storage', message, { 'retry-after': String(RETRY_SECONDS) })
  }
  replyJson(response, 200, { success: true })
  return true
}

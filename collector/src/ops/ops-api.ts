import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { replyJson, requireMethod, SECURITY_HEADERS } from '../http/reply.ts'
import { METRICS_TYPE } from './counts.ts'

export const OPS_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

export interface OpsParts {
  /** Why events cannot be kept, in one sentence; null if they can. */
  whyNotReady(): string | null | Promise<string | null>
  metrics(): string
}

/**
 * Handles `/healthz`, `/readyz` and `/metrics`.
 *
 * @param checkAdmin Throws when the caller may not see the metrics. Probes need no token, because they reveal nothing about events.
 */
export async function handleOps(
  { whyNotReady, metrics }: OpsParts,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  checkAdmin: () => void,
): Promise<void> {
  requireMethod(request, 'GET')
  if (path === '/healthz') {
    // In a later turn, which shows that the event loop runs.
    await nextTurn()
    return replyJson(response, 200, { status: 'alive' })
  }
  if (path === '/readyz') {
    const reason = await whyNotReady()
    return replyJson(response, reason === null ? 200 : 503, {
      status: reason === null ? 'ready' : 'not_ready',
      reason,
    })
  }
  checkAdmin()
  const body = metrics()
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': METRICS_TYPE,
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

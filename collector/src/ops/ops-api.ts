import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { replyJson, requireMethod, SECURITY_HEADERS } from '../http/reply.ts'

export const OPS_PATHS: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export interface OpsParts {
  /** Why events cannot be kept, in one sentence; null if they can. */
  whyNotReady(): string | null | Promise<string | null>
  metrics(): string
  /** Throws when the caller may not see the metrics. Probes need no token, because they reveal nothing about events. */
  checkAdmin(request: IncomingMessage): void
}

/** Handles `/healthz`, `/readyz` and `/metrics`. */
export async function handleOps(
  { whyNotReady, metrics, checkAdmin }: OpsParts,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
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
  checkAdmin(request)
  const body = metrics()
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': METRICS_TYPE,
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

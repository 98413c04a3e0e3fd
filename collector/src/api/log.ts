import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import { HttpProblem, replyJson, requireMethod } from '../http/reply.ts'
import type { SharedLog } from '../log/ports.ts'
import type { Shared } from '../shared.ts'
import { parsed, readJson } from './actions.ts'
import type { About } from './api.ts'
import { readQuery } from './query.ts'

const MAX_IDS = 1000
const idsSchema = z.array(z.string().min(1).max(20)).max(MAX_IDS)
const retrySchema = z.strictObject({ ids: idsSchema.optional() })
// A caller must name the ids, even to discard all messages, because discarded messages cannot be restored.
const discardSchema = z.strictObject({ ids: idsSchema.min(1) })

/**
 * Handles requests about the log; in a process without a store, all requests to `/api`. Returns false for all other requests.
 */
export async function handleShared(
  { log, hasStore }: Shared,
  about: About,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (await handleDeadLetters(log, url, request, response)) return true
  if (hasStore) return false
  const { handleFront } = await import('./front.ts')
  return handleFront(log, about, url, response)
}

/** Returns false for all other paths. */
async function handleDeadLetters(
  { deadLetters }: SharedLog,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  if (url.pathname === '/api/dead-letters') {
    requireMethod(request, 'GET')
    const { limit } = readQuery('deadLetters', url.searchParams)
    replyJson(response, 200, { deadLetters: await asked(deadLetters.list(limit)) })
    return true
  }
  const isDiscard = url.pathname === '/api/dead-letters/discard'
  if (!isDiscard && url.pathname !== '/api/dead-letters/retry') return false
  requireMethod(request, 'POST')
  const body = await readJson(request)
  if (body === undefined) return true
  if (isDiscard) {
    const { ids } = parsed(discardSchema, body)
    replyJson(response, 200, { discarded: await asked(deadLetters.discard(ids)) })
  } else {
    const { ids } = parsed(retrySchema, body)
    replyJson(response, 200, { retried: await asked(deadLetters.retry(ids)) })
  }
  return true
}

async function asked<T>(response: Promise<T>): Promise<T> {
  try {
    return await response
  } catch (cause) {
    throw new HttpProblem(503, 'log', `the log does not respond (${(cause as Error).message})`, {
      'retry-after': '5',
    })
  }
}

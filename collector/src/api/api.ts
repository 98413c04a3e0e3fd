import type { IncomingMessage, ServerResponse } from 'node:http'
import { SKIP_REASONS } from '../destinations/select.ts'
import { HttpProblem, replyJson } from '../http/reply.ts'
import type { Stats } from '../live/stats.ts'
import type { LiveStream } from '../live/stream.ts'
import { type WaitOptions, WaitTimeoutError } from '../live/waiters.ts'
import { type EventRecord, KINDS, REASONS } from '../record.ts'
import type { Store } from '../store/store.ts'
import { readEventsQuery, readWaitQuery } from './query.ts'

/** What the queries are answered from. */
export interface ApiParts {
  store: Pick<Store, 'events' | 'summaries'>
  stats(): Stats
  wait(options: WaitOptions, signal: AbortSignal): Promise<EventRecord[]>
  clear(): void
  stream: LiveStream
}

/** `/api/...`: what scripts and the page ask. Answers false when there is no such address. */
export async function handleApi(
  parts: ApiParts,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const single = /^\/api\/events\/(\d{1,15})$/.exec(url.pathname)
  const allow = (...methods: string[]) => {
    if (!methods.includes(method ?? '')) {
      throw new HttpProblem(405, 'method', `expected ${methods.join(' or ')}`, { allow: methods.join(', ') })
    }
  }
  if (single) {
    allow('GET')
    const seq = Number(single[1])
    const [record] = parts.store.events({ after: seq - 1, before: seq + 1 })
    if (record === undefined) throw new HttpProblem(404, 'no_event', `no event has the number ${seq}`)
    replyJson(response, 200, record)
    return true
  }
  switch (url.pathname) {
    case '/api/events':
      allow('GET', 'DELETE')
      if (method === 'DELETE') {
        parts.clear()
        replyJson(response, 200, { success: true })
      } else {
        replyEvents(parts, url, response)
      }
      return true
    case '/api/stats':
      allow('GET')
      replyJson(response, 200, parts.stats())
      return true
    case '/api/reasons':
      allow('GET')
      replyJson(response, 200, { types: [...KINDS, 'batch'], reasons: REASONS, skips: SKIP_REASONS })
      return true
    case '/api/wait':
      allow('GET')
      await replyWait(parts, url, response)
      return true
    case '/api/stream':
      allow('GET')
      parts.stream.open(request, response)
      return true
    default:
      return false
  }
}

function replyEvents(parts: ApiParts, url: URL, response: ServerResponse): void {
  const { view, limit, ...query } = readEventsQuery(url.searchParams)
  // One more than asked for tells whether there is a next page.
  const wanted = { ...query, limit: limit + 1 }
  const found = view === 'summary' ? parts.store.summaries(wanted) : parts.store.events(wanted)
  const events = found.slice(0, limit)
  const last = events.at(-1)
  const next =
    found.length > limit && last !== undefined
      ? query.order === 'newest'
        ? { before: last.seq }
        : { after: last.seq }
      : null
  replyJson(response, 200, { events, next })
}

async function replyWait(parts: ApiParts, url: URL, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    const events = await parts.wait(readWaitQuery(url.searchParams), gone.signal)
    replyJson(response, 200, { events })
  } catch (cause) {
    if (!(cause instanceof WaitTimeoutError)) throw cause
    throw new HttpProblem(408, cause.code, cause.message)
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiCaller } from '../auth/access.ts'
import { readKey } from '../catalogue/samples.ts'
import type { Clock } from '../clock.ts'
import { SKIP_REASONS } from '../destinations/select.ts'
import { helpFor } from '../help.ts'
import { HttpProblem, JSON_TYPE, replyJson, requireMethod, SECURITY_HEADERS } from '../http/reply.ts'
import type { Stats } from '../live/stats.ts'
import type { LiveStream } from '../live/stream.ts'
import type { WaitOptions } from '../live/waiters.ts'
import { decoded } from '../percent-decoding.ts'
import { type EventRecord, KINDS, REASONS, WARNINGS } from '../record.ts'
import { SearchSyntaxError } from '../search/syntax.ts'
import type { Changes } from '../store/changes.ts'
import { CursorError } from '../store/cursor.ts'
import { catalogue, schemas } from '../store/queries/catalogue.ts'
import type { QueryContext } from '../store/queries/context.ts'
import { countEvents, listEvents } from '../store/queries/events.ts'
import { overview } from '../store/queries/overview.ts'
import { problems } from '../store/queries/problems.ts'
import { listRequests, requestDetail } from '../store/queries/requests.ts'
import { listUsers } from '../store/queries/users.ts'
import type { EventDetail } from '../store/query-results.ts'
import { type Actions, handleAction } from './actions.ts'
import { oneEntry } from './entry.ts'
import { exportEvents, exportRequests } from './export.ts'
import { readCursorOrSeq, readQuery, readRange, readRequestSearch, readSearch } from './query.ts'
import { wait } from './wait.ts'

export interface About {
  version: string
  startedAt: string
  region: string
  /** Name of the file, or `:memory:`. */
  database: string
  /** Null if any write key is accepted. */
  sources: string[] | null
  destinations: string[]
  hasPlan: boolean
  /** The newest events that are kept. */
  maxEvents: number
  /** Where events come from beside the HTTP API, without credentials; null if from nowhere else. */
  log: string | null
  /** Whether the API requires the admin token. The page then offers to log out. */
  needsToken: boolean
  /** Whether the collector refuses to delete events and to inject faults. */
  isProtected: boolean
}

export interface ApiParts {
  /** What queries read from, now. */
  context(): QueryContext
  changes: Changes
  stream: LiveStream
  about: About
  actions: Actions
  setTimer: Clock['setTimer']
  stats(): Stats
  wait(options: WaitOptions, signal: AbortSignal): Promise<EventRecord[]>
}

interface Asking extends ApiParts {
  caller: ApiCaller
  parameters: URLSearchParams
  request: IncomingMessage
  response: ServerResponse
}

/** Returned by a handler that has written the response itself. */
const DONE = Symbol('done')

const PAGE_OF_EXPORT = 100

/** The handlers of GET requests, by path. Each returns the value to send as JSON, or `DONE`. */
const ROUTES: Readonly<Record<string, (asking: Asking) => unknown>> = {
  '/api/about': about,
  '/api/events': ({ context, parameters }) => {
    const { view, limit, order, cursor, ...filter } = readQuery('events', parameters)
    const query = { ...readSearch(filter, context().nowMs), order, limit, cursor, isFull: view === 'full' }
    return listEvents(context(), query)
  },
  '/api/count': ({ context, parameters }) => {
    const query = readSearch(readQuery('count', parameters), context().nowMs)
    return { count: countEvents(context(), query), isComplete: true }
  },
  '/api/requests': ({ context, parameters }) => {
    const { q, order, limit, cursor, after, ...range } = readQuery('requests', parameters)
    const where = { search: readRequestSearch(q), ...readRange(range, context().nowMs), order, limit, cursor }
    return listRequests(context(), { ...where, ...(after && { after: readCursorOrSeq(after) }) })
  },
  '/api/overview': ({ context, parameters }) =>
    overview(context(), readRange(readQuery('range', parameters), context().nowMs)),
  '/api/catalogue': readCatalogue,
  '/api/users': ({ context, parameters }) => listUsers(context(), readQuery('users', parameters)),
  '/api/problems': ({ context, parameters }) =>
    problems(context(), readRange(readQuery('range', parameters), context().nowMs)),
  '/api/destinations': ({ actions }) => ({ destinations: actions.destinations() }),
  '/api/release': ({ actions }) => ({ target: actions.releaseTarget() }),
  '/api/reasons': () => ({
    types: [...KINDS, 'batch'],
    reasons: REASONS,
    warnings: WARNINGS,
    skips: SKIP_REASONS,
    help: Object.fromEntries(
      [...Object.keys(REASONS), ...Object.keys(WARNINGS)].map((code) => [code, helpFor(code)]),
    ),
  }),
  '/api/stats': ({ stats, changes, stream, context }) => ({
    ...stats(),
    ...changes.state,
    storeUnavailable: stream.storeUnavailable(),
    faults: stream.faults(),
    process: stream.process,
    now: new Date(context().nowMs).toISOString(),
  }),
  '/api/wait': async ({ wait: waitFor, parameters, response }) => {
    await wait(waitFor, parameters, response)
    return DONE
  },
  '/api/export': async ({ context, parameters, response, setTimer }) => {
    const { format, order, safe, ...filter } = readQuery('export', parameters)
    const search = readSearch(filter, context().nowMs)
    const page = (cursor: string | undefined) => {
      const query = { ...search, order, cursor, limit: PAGE_OF_EXPORT, isFull: true }
      const { events, next } = listEvents(context(), query)
      return { items: events as EventRecord[], next }
    }
    await exportEvents(page, { format, isSafe: safe === '1' }, { response, setTimer })
    return DONE
  },
  '/api/export/requests': async ({ context, parameters, response, setTimer }) => {
    const { order, q, safe, ...range } = readQuery('exportRequests', parameters)
    const search = { search: readRequestSearch(q), ...readRange(range, context().nowMs), order }
    const page = (cursor: string | undefined) => {
      const { requests, next } = listRequests(context(), { ...search, cursor, limit: PAGE_OF_EXPORT })
      return { items: requests, next }
    }
    await exportRequests(page, safe === '1', { response, setTimer })
    return DONE
  },
  '/api/stream': ({ stream, request, response }) => {
    stream.open(request, response)
    return DONE
  },
}

/** One event with everything that is known about it, as a file for a colleague. */
const EVENT_FILE = /^\/api\/events\/(\d+)\/file$/
const ENTRY = /^\/api\/(events|requests|users|catalogue)\/([^/]+)$/

/** Returns false if there is no such path. */
export async function handleApi(
  parts: ApiParts,
  caller: ApiCaller,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  try {
    return await route(parts, caller, url, request, response)
  } catch (cause) {
    if (cause instanceof CursorError) {
      const [name] = [...url.searchParams].find(([, value]) => value === cause.cursor) ?? ['cursor']
      throw new HttpProblem(400, 'bad_query', `${name}: ${cause.message}`)
    }
    if (!(cause instanceof SearchSyntaxError)) throw cause
    const { code, message, position, length } = cause
    replyJson(response, 400, { success: false, code, message, position, length })
    return true
  }
}

async function route(
  parts: ApiParts,
  caller: ApiCaller,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { pathname, searchParams: parameters } = url
  if (await handleAction(parts.actions, pathname, request, response)) return true
  const file = EVENT_FILE.exec(pathname)?.[1]
  if (file !== undefined) {
    requireMethod(request, 'GET')
    sendEventFile(parts.context(), file, url, response)
    return true
  }
  const handler = Object.hasOwn(ROUTES, pathname) ? ROUTES[pathname] : undefined
  const entry = ENTRY.exec(pathname)
  if (handler === undefined && entry === null) return false
  requireMethod(request, 'GET', ...(pathname === '/api/events' ? ['DELETE'] : []))
  const value =
    handler === undefined
      ? oneEntry(parts.context(), entry?.[1] ?? '', decoded(entry?.[2] ?? ''), url)
      : await handler({ ...parts, caller, parameters, request, response })
  if (value !== DONE) replyJson(response, 200, value)
  return true
}

/** The event with its attempts and repeats, and the request in which it came. */
function sendEventFile(context: QueryContext, id: string, url: URL, response: ServerResponse): void {
  const event = oneEntry(context, 'events', id, url) as EventDetail
  const request = event.request === null ? null : requestDetail(context, event.request)
  const text = `${JSON.stringify({ event, request }, null, 2)}\n`
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': JSON_TYPE,
    'content-disposition': `attachment; filename="event-${id}.json"`,
  })
  response.end(text)
}

function about({ about, actions, context, caller }: Asking): unknown {
  const { isProtected, ...facts } = about
  return {
    ...facts,
    now: new Date(context().nowMs).toISOString(),
    anyKey: facts.sources === null,
    releaseTo: actions.releaseTarget(),
    canAct: !caller.isReader,
    canDelete: !caller.isReader && !isProtected,
    canInjectFaults: !caller.isReader && !isProtected,
  }
}

function readCatalogue({ context, parameters, response }: Asking): unknown {
  const { format, ...given } = readQuery('catalogue', parameters)
  const range = readRange(given, context().nowMs)
  if (format === 'list') return catalogue(context(), range)
  const { schemas: all, isComplete } = schemas(context(), range)
  const named = (type: string) =>
    Object.fromEntries(all.filter((one) => one.type === type).map(({ name, schema }) => [name, schema]))
  const single = (type: string) => all.find(({ key }) => readKey(key).type === type)?.schema
  const plan = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Tracking plan',
    ...(isComplete ? {} : { description: 'There are more names: only the most frequent are here.' }),
    additionalEvents: true,
    track: named('track'),
    page: named('page'),
    screen: named('screen'),
    identify: single('identify') ?? { type: 'object' },
    group: single('group') ?? { type: 'object' },
  }
  // Indented, because people edit the downloaded file.
  const text = `${JSON.stringify(plan, null, 2)}\n`
  response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': JSON_TYPE }).end(text)
  return DONE
}

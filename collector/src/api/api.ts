import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ApiCaller } from '../auth/access.ts'
import { readKey } from '../catalogue/samples.ts'
import { SKIP_REASONS } from '../destinations/select.ts'
import { helpFor } from '../help.ts'
import { goneSignal } from '../http/gone.ts'
import { HttpProblem, JSON_TYPE, replyJson, requireMethod, SECURITY_HEADERS } from '../http/reply.ts'
import type { Stats } from '../live/stats.ts'
import type { LiveStream } from '../live/stream.ts'
import type { SharedLog } from '../log/ports.ts'
import { logState } from '../log/state.ts'
import { networkOf } from '../network-address.ts'
import { decoded } from '../percent-decoding.ts'
import { KINDS, REASONS, WARNINGS } from '../record.ts'
import { SearchSyntaxError } from '../search/syntax.ts'
import { CursorError, type EventReader } from '../store/event-reader.ts'
import type { ChangeFeed } from '../store/ports.ts'
import { type Actions, handleAction } from './actions.ts'
import type { ClientTurns } from './client-turns.ts'
import { oneEntry } from './entry.ts'
import { exportEvents, exportRequests } from './export.ts'
import { readCursorOrSeq, readQuery, readRange, readRequestSearch, readSearch } from './query.ts'
import { type WaitParts, wait } from './wait.ts'

export interface About {
  version: string
  startedAt: string
  region: string
  /** Name of the file, `:memory:`, or the address of the database server, shown without its credentials. */
  database: string
  /** Null if any write key is accepted. */
  sources: string[] | null
  destinations: string[]
  hasPlan: boolean
  /** Null if there is no limit. */
  maxEvents: number | null
  /** `single` if there is no log. */
  role: 'single' | 'front' | 'worker'
  /** Without credentials; null if there is no log. */
  log: string | null
  /** Whether the API requires the admin token. The page then offers to log out. */
  needsToken: boolean
  /** Whether the collector refuses to delete events and to inject faults. */
  isProtected: boolean
}

export interface ApiParts extends WaitParts {
  reader: EventReader
  changes: ChangeFeed
  stream: LiveStream
  about: About
  actions: Actions
  turns: ClientTurns
  now(): number
  stats(): Stats
  log?: SharedLog | undefined
}

type Handler = (
  parts: ApiParts & { caller: ApiCaller },
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<unknown>

/** Returned by a handler that has written the response itself. */
const DONE = Symbol('done')

/** The handlers of GET requests, by path. Each returns the value to send as JSON, or `DONE`. */
const ROUTES: Readonly<Record<string, Handler>> = {
  '/api/about': about,
  '/api/events': events,
  '/api/count': async ({ reader, now }, { searchParams }) => {
    const query = readSearch(readQuery('count', searchParams), now())
    const { count, isComplete } = await reader.ask('count', query)
    return { count, isComplete }
  },
  '/api/requests': requests,
  '/api/overview': async ({ reader, now }, { searchParams }) =>
    reader.ask('overview', readRange(readQuery('range', searchParams), now())),
  '/api/catalogue': catalogue,
  '/api/users': async ({ reader }, { searchParams }) => {
    const { q, limit, cursor } = readQuery('users', searchParams)
    return reader.ask('users', { q, limit, cursor })
  },
  '/api/problems': async ({ reader, now }, { searchParams }) =>
    reader.ask('problems', readRange(readQuery('range', searchParams), now())),
  '/api/destinations': async ({ actions }) => ({ destinations: await actions.destinations() }),
  '/api/release': async ({ actions }) => ({ target: actions.releaseTarget() }),
  '/api/reasons': async () => ({
    types: [...KINDS, 'batch'],
    reasons: REASONS,
    warnings: WARNINGS,
    skips: SKIP_REASONS,
    help: Object.fromEntries(
      [...Object.keys(REASONS), ...Object.keys(WARNINGS)].map((code) => [code, helpFor(code)]),
    ),
  }),
  '/api/stats': async ({ stats, changes, stream, now, log }) => ({
    ...stats(),
    ...changes.state(),
    ...(log && { log: await logState(log) }),
    storeUnavailable: stream.storeUnavailable(),
    faults: stream.faults(),
    process: stream.process,
    now: new Date(now()).toISOString(),
  }),
  '/api/wait': async (parts, { searchParams }, _request, response) => {
    await wait(parts, searchParams, response)
    return DONE
  },
  '/api/export': async (parts, { searchParams }, _request, response) => {
    const { format, order, safe, ...filter } = readQuery('export', searchParams)
    const search = readSearch(filter, parts.now())
    await exportEvents(parts, { ...search, order }, { format, isSafe: safe === '1' }, response)
    return DONE
  },
  '/api/export/requests': async (parts, { searchParams }, _request, response) => {
    const { format, order, q, safe, ...range } = readQuery('exportRequests', searchParams)
    const search = { search: readRequestSearch(q), ...readRange(range, parts.now()), order }
    await exportRequests(parts, search, { format, isSafe: safe === '1' }, response)
    return DONE
  },
  '/api/stream': async ({ stream }, _url, request, response) => {
    stream.open(request, response)
    return DONE
  },
}

/** Paths whose requests do not take turns, because they query nothing or have a limit of their own. */
const WITHOUT_TURN: ReadonlySet<string> = new Set([
  '/api/about',
  '/api/export',
  '/api/export/requests',
  '/api/reasons',
  '/api/release',
  '/api/stats',
  '/api/stream',
  '/api/wait',
])

const DEAD_LETTERS = /^\/api\/dead-letters(\/(retry|discard))?$/
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
  const { pathname } = url
  if (await handleAction(parts.actions, pathname, request, response)) return true
  const handler = Object.hasOwn(ROUTES, pathname) ? ROUTES[pathname] : undefined
  const entry = ENTRY.exec(pathname)
  if (handler === undefined && entry === null) {
    // With a log, src/api/log.ts has already handled the requests about dead letters.
    if (DEAD_LETTERS.test(pathname) && parts.log === undefined) throw noLog()
    return false
  }
  requireMethod(request, 'GET', ...(pathname === '/api/events' ? ['DELETE'] : []))
  const asking = { ...parts, caller, reader: readerFor(response, parts.reader) }
  const run = async () => {
    const value =
      handler === undefined
        ? await oneEntry(asking, entry?.[1] ?? '', decoded(entry?.[2] ?? ''), url)
        : await handler(asking, url, request, response)
    if (value !== DONE) replyJson(response, 200, value)
  }
  // A page and a script on one machine are two clients.
  const client = request.headers['user-agent'] ?? ''
  if (WITHOUT_TURN.has(pathname)) await run()
  else await parts.turns.run(networkOf(caller.address), client, response, run)
  return true
}

function noLog(): HttpProblem {
  return new HttpProblem(
    404,
    'no_log',
    'there are no dead letters here: only a log has them, and this collector was started without --log',
  )
}

/** Returns a reader whose queries are cancelled when the client closes the connection. */
function readerFor(response: ServerResponse, reader: EventReader): EventReader {
  const signal = goneSignal(response)
  return { ask: (name, parameters) => reader.ask(name, parameters, signal) }
}

async function about({ about, actions, now, caller }: ApiParts & { caller: ApiCaller }): Promise<unknown> {
  const { isProtected, ...facts } = about
  return {
    ...facts,
    now: new Date(now()).toISOString(),
    anyKey: facts.sources === null,
    releaseTo: actions.releaseTarget(),
    canAct: !caller.isReader,
    canDelete: !caller.isReader && !isProtected,
    canInjectFaults: !caller.isReader && !isProtected,
  }
}

async function events({ reader, now }: ApiParts, { searchParams }: URL): Promise<unknown> {
  const { view, limit, order, cursor, ...filter } = readQuery('events', searchParams)
  const isFull = view === 'full'
  const query = { ...readSearch(filter, now()), order, limit, cursor, isFull, isExact: true }
  if (!isFull) return reader.ask('events', query)
  const page = await reader.ask('events', query)
  // Writing the page takes up to 10 ms. Other work runs first: another page may be ready to be written in this turn of the event
  // loop.
  await nextTurn()
  return page
}

async function requests({ reader, now }: ApiParts, { searchParams }: URL): Promise<unknown> {
  const { q, order, limit, cursor, after, ...range } = readQuery('requests', searchParams)
  return reader.ask('requests', {
    search: readRequestSearch(q),
    ...readRange(range, now()),
    ...(after && { after: readCursorOrSeq(after) }),
    order,
    limit,
    cursor,
  })
}

async function catalogue(
  { reader, now }: ApiParts,
  { searchParams }: URL,
  _request: IncomingMessage,
  response: ServerResponse,
): Promise<unknown> {
  const { format, ...given } = readQuery('catalogue', searchParams)
  const range = readRange(given, now())
  if (format === 'list') return reader.ask('catalogue', range)
  const { schemas, notSampled, isComplete } = await reader.ask('schemas', range)
  // An event that was not sampled may have any properties, but it is in the plan.
  const all = [...schemas, ...notSampled.map((key) => ({ key, ...readKey(key), schema: {} }))]
  const named = (type: string) =>
    Object.fromEntries(all.filter((one) => one.type === type).map(({ name, schema }) => [name, schema]))
  const single = (type: string) => all.find((one) => one.type === type)?.schema
  const plan = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Tracking plan',
    ...describedGaps(notSampled, isComplete),
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

function describedGaps(notSampled: readonly string[], isComplete: boolean): { description?: string } {
  const gaps = [
    ...(notSampled.length === 0
      ? []
      : [`Not sampled in time, so anything is valid: ${notSampled.join(', ')}.`]),
    ...(isComplete ? [] : ['There are more names: only the most frequent are here.']),
  ]
  return gaps.length === 0 ? {} : { description: gaps.join(' ') }
}

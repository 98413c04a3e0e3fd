import type { IncomingMessage, ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { catalogue, catalogueDetail, schemas } from '../catalogue/catalogue.ts'
import { SKIP_REASONS } from '../destinations/select.ts'
import { helpFor } from '../help.ts'
import { HttpProblem, JSON_TYPE, replyJson, requireMethod, SECURITY_HEADERS } from '../http/reply.ts'
import { decoded } from '../percent-decoding.ts'
import { KINDS, REASONS, WARNINGS } from '../record.ts'
import { SearchSyntaxError } from '../search/syntax.ts'
import { eventDetail } from '../store/queries/event-detail.ts'
import { countEvents, listEvents } from '../store/queries/events.ts'
import { overview } from '../store/queries/overview.ts'
import { problems } from '../store/queries/problems.ts'
import { listRequests, requestDetail } from '../store/queries/requests.ts'
import { userDetail } from '../store/queries/user-detail.ts'
import { listUsers } from '../store/queries/users.ts'
import { version } from '../version.ts'
import { type ApiParts, type Asking, DONE, found, type Routes } from './asking.ts'
import { CHANGES_ROUTES } from './changes.ts'
import { DELIVERY_ROUTES } from './deliveries.ts'
import { exportEvents, exportRequests } from './export.ts'
import { FAULT_ROUTES } from './faults.ts'
import { readQuery, readRange, readRequestSearch, readSearch } from './query.ts'
import { resend } from './resend.ts'
import { wait } from './wait.ts'

const ROUTES: Routes = {
  'GET /api/about': about,
  'GET /api/events': ({ context, parameters }) => {
    const { view, limit, order, cursor, ...filter } = readQuery('events', parameters)
    const search = readSearch(filter, context.nowMs)
    return listEvents(context, { ...search, order, limit, cursor, isFull: view === 'full' })
  },
  'DELETE /api/events': ({ store }) => {
    store.clear()
    return { success: true }
  },
  'GET /api/events/:id': oneEvent,
  'GET /api/events/:id/file': sendEventFile,
  'GET /api/count': ({ context, parameters }) => {
    const query = readSearch(readQuery('count', parameters), context.nowMs)
    return { count: countEvents(context, query) }
  },
  'GET /api/requests': ({ context, parameters }) => {
    const { q, order, limit, cursor, after, ...range } = readQuery('requests', parameters)
    const where = { search: readRequestSearch(q), ...readRange(range, context.nowMs), order, limit, cursor }
    return listRequests(context, { ...where, ...(after && { after }) })
  },
  'GET /api/requests/:id': ({ context, id, parameters }) => {
    readQuery('none', parameters)
    return found(requestDetail(context, id), 'no_request', 'there is no request of this id')
  },
  'POST /api/requests/:id/send': resend,
  'GET /api/overview': ({ context, parameters }) =>
    overview(context, readRange(readQuery('range', parameters), context.nowMs)),
  'GET /api/catalogue': readCatalogue,
  'GET /api/catalogue/:id': async ({ context, comparison, id, parameters }) => {
    const range = readRange(readQuery('range', parameters), context.nowMs)
    const entry = await catalogueDetail(context, comparison, { key: id, ...range })
    return found(entry, 'no_such_entry', 'no event has this key')
  },
  'GET /api/users': ({ context, parameters }) => listUsers(context, readQuery('users', parameters)),
  'GET /api/users/:id': ({ context, id, parameters }) => {
    const user = userDetail(context, { id, ...readQuery('user', parameters) })
    return found(user, 'no_user', 'no user of this id has sent an event')
  },
  'GET /api/problems': ({ context, parameters }) =>
    problems(context, readRange(readQuery('range', parameters), context.nowMs)),
  'GET /api/reasons': () => ({
    types: [...KINDS, 'batch'],
    reasons: REASONS,
    warnings: WARNINGS,
    skips: SKIP_REASONS,
    help: Object.fromEntries(
      [...Object.keys(REASONS), ...Object.keys(WARNINGS)].map((code) => [code, helpFor(code)]),
    ),
  }),
  'GET /api/stats': ({ stats, stream }) => ({ ...stats(), ...stream.state }),
  'GET /api/stream': ({ stream, request, response }) => {
    stream.open(request, response)
    return DONE
  },
  'GET /api/wait': wait,
  'GET /api/export': exportEvents,
  'GET /api/export/requests': exportRequests,
  'DELETE /api/tokens': ({ tokens }) => {
    found(tokens, 'no_oauth', 'the config has no oauth').revokeTokens()
    return { success: true }
  },
  ...DELIVERY_ROUTES,
  ...CHANGES_ROUTES,
  ...FAULT_ROUTES,
}

const TABLE = Object.entries(ROUTES).map(([route, handle]) => {
  const [method = '', path = ''] = route.split(' ')
  return { method, pattern: new RegExp(`^${path.replace(':id', '([^/]+)')}$`), handle }
})

/** Resolves with false if there is no such path. */
export async function handleApi(
  parts: ApiParts,
  url: URL,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<boolean> {
  const { pathname, searchParams: parameters } = url
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '')
  // `DELETE /api/events?q=...` would delete all events.
  const [parameter] = parameters.keys()
  if (method !== 'GET' && parameter !== undefined)
    throw new HttpProblem(
      400,
      'bad_query',
      `${parameter}: ${method} ${pathname} has no parameters in its URL`,
    )
  const routes = TABLE.filter(({ pattern }) => pattern.test(pathname))
  if (routes.length === 0) return false
  requireMethod(request, ...routes.map((route) => route.method))
  const route = routes.find((one) => one.method === method)
  const id = decoded(route?.pattern.exec(pathname)?.[1] ?? '')
  try {
    const context = parts.context()
    const value = await route?.handle({ ...parts, context, parameters, id, request, response })
    if (value !== DONE) replyJson(response, 200, value)
  } catch (cause) {
    parts.store.noteDamage(cause)
    if (!(cause instanceof SearchSyntaxError)) throw cause
    const { code, message, position, length } = cause
    throw new HttpProblem(400, code, message, {}, { position, length })
  }
  return true
}

function oneEvent({ context, id, parameters }: Asking) {
  readQuery('none', parameters)
  return found(eventDetail(context, id), 'no_event', 'there is no event of this id')
}

/** The event with its attempts and repeats, and the request in which it came, as a file for a colleague. */
function sendEventFile(asking: Asking): unknown {
  const { context, id, response } = asking
  const event = oneEvent(asking)
  const request = event.request === null ? null : requestDetail(context, event.request)
  const headers = { 'content-disposition': `attachment; filename="event-${id}.json"` }
  return sendIndented(response, { event, request }, headers)
}

function about({ config, store, plan, admin, startedAt, log, context }: Asking): unknown {
  const { database, keep } = store
  return {
    version,
    startedAt,
    now: new Date(context.nowMs).toISOString(),
    // Without the folder: it may be shown to anyone.
    database: basename(database.path),
    sources: config.sources?.map(({ name }) => name) ?? null,
    anyKey: config.sources === undefined,
    destinations: config.destinations.map(({ name }) => name),
    hasPlan: plan !== null,
    maxEvents: keep,
    log: log(),
    needsToken: admin.hasToken,
  }
}

async function readCatalogue({ context, comparison, parameters, response }: Asking): Promise<unknown> {
  const { format, ...given } = readQuery('catalogue', parameters)
  const range = readRange(given, context.nowMs)
  if (format === 'list') return catalogue(context, comparison, range)
  const { schemas: all, isComplete } = await schemas(context, comparison, range)
  const named = (type: string) =>
    Object.fromEntries(all.filter((one) => one.type === type).map(({ name, schema }) => [name, schema]))
  const single = (type: string) => all.find((one) => one.type === type)?.schema
  return sendIndented(response, {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Tracking plan',
    ...(isComplete ? {} : { description: 'There are more names: only the most frequent are here.' }),
    additionalEvents: true,
    track: named('track'),
    page: named('page'),
    screen: named('screen'),
    identify: single('identify') ?? { type: 'object' },
    group: single('group') ?? { type: 'object' },
  })
}

/** Indented, because people read the file. */
function sendIndented(
  response: ServerResponse,
  value: unknown,
  headers: Record<string, string> = {},
): typeof DONE {
  response.writeHead(200, { ...SECURITY_HEADERS, 'content-type': JSON_TYPE, ...headers })
  response.end(`${JSON.stringify(value, null, 2)}\n`)
  return DONE
}

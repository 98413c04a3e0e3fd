import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiCaller } from './auth/access.ts'
import type { AdminGate } from './auth/admin.ts'
import type { Clock } from './clock.ts'
import type { OriginGuard } from './http/origin.ts'
import { readBody, replyEarly } from './http/read-body.ts'
import { HttpProblem, replyJson, replyProblem, requireMethod } from './http/reply.ts'
import type { RequestNotes } from './http/request-notes.ts'
import type { RequestRecorder } from './http/request-recorder.ts'
import { brokenOn } from './http/server.ts'
import { readTarget } from './http/target.ts'
import type { TrackingApi } from './ingest/tracking-api.ts'
import type { TrustedProxies } from './network-address.ts'
import { OPS_PATHS, type OpsApi } from './ops/ops-api.ts'
import { decoded } from './percent-decoding.ts'
import { isKind, type Kind } from './record.ts'
import { isStoreUnavailable } from './store/unavailable.ts'

export interface RouterParts {
  clock: Clock
  guard: OriginGuard
  proxies: TrustedProxies
  recorder: RequestRecorder
  admin: AdminGate
  tracking: TrackingApi
  ops: OpsApi
  /** Undefined if the collector issues no tokens. */
  handleToken?:
    | ((request: IncomingMessage, response: ServerResponse, notes: RequestNotes) => Promise<void>)
    | undefined
  /** Resolves with false if the API has no such path. */
  handleApi(caller: ApiCaller, url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean>
  /** Returns false if the page has no such file. */
  servePage(path: string, request: IncomingMessage, response: ServerResponse): boolean
  onFault(what: string, cause: unknown): void
}

/** Short paths that browser libraries use for the kinds. */
const SHORT_PATHS: Readonly<Record<string, Kind | 'batch'>> = {
  t: 'track',
  i: 'identify',
  p: 'page',
  s: 'screen',
  g: 'group',
  a: 'alias',
  b: 'batch',
}
/** The path to which browser libraries send metrics about themselves. */
const METRICS = 'm'
const MAX_METRICS_BYTES = 65_536

export class Router {
  readonly #parts: RouterParts

  constructor(parts: RouterParts) {
    this.#parts = parts
  }

  /** Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { recorder, proxies } = this.#parts
    const url = readTarget(request.url ?? '')
    const path = url?.pathname ?? request.url ?? ''
    const address = proxies.callerOf(request)
    const notes = recorder.begin(request, response, {
      path,
      address,
      isWorthIt: (status) => isWorthIt(path, request, status),
      brokenOff: () => brokenOn(request.socket),
    })
    notes.handling = this.#route(url, request, response, notes).catch((cause: unknown) =>
      this.#answerProblem(cause, request, response, notes),
    )
    await notes.handling
  }

  async #route(
    url: URL | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<void> {
    const { guard, handleToken } = this.#parts
    const path = url?.pathname ?? ''
    guard.checkHost(request)
    const [, version, name = '', ...more] = path.split('/')
    if (version === 'v1' && url !== undefined) {
      guard.allowEvents(request, response)
      if (name === 'projects') return this.#browserSettings(more, request, response)
      if (more.length === 0) return this.#track(name, request, response, notes)
    }
    if (path === '/token' && handleToken !== undefined) {
      guard.refuseForeign(request, false)
      requireMethod(request, 'POST')
      return handleToken(request, response, notes)
    }
    if (OPS_PATHS.has(path)) {
      const { ops, admin } = this.#parts
      guard.refuseForeign(request, false)
      return ops.handle(path, request, response, () => void admin.check(request, notes.address))
    }
    return this.#admin(url, request, response, notes)
  }

  async #track(
    name: string,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<void> {
    const kind = Object.hasOwn(SHORT_PATHS, name) ? SHORT_PATHS[name] : name
    const isKnown = kind === 'batch' || isKind(kind)
    if (!isKnown && kind !== METRICS) throw notFound()
    if (this.#parts.guard.answerPreflight(request, response)) return
    requireMethod(request, 'POST')
    if (isKnown) return this.#parts.tracking.handle(request, response, kind, notes)
    const read = await readBody(request, MAX_METRICS_BYTES)
    if (read === 'aborted') return
    notes.bodyBytes = read.sentBytes
    replyJson(response, 200, { success: true })
  }

  /** The settings that a browser library loads at its start. They make the library send all events to this collector. */
  #browserSettings([writeKey, file]: string[], request: IncomingMessage, response: ServerResponse): void {
    if (file !== 'settings' || writeKey === undefined) throw notFound()
    if (this.#parts.guard.answerPreflight(request, response)) return
    requireMethod(request, 'GET')
    const isSecure = this.#parts.proxies.isSecure(request)
    replyJson(response, 200, {
      integrations: {
        'Segment.io': {
          apiKey: decoded(writeKey),
          apiHost: `${request.headers.host ?? ''}/v1`,
          protocol: isSecure ? 'https' : 'http',
          deliveryStrategy: { strategy: 'standard' },
        },
      },
      plan: { track: { __default: { enabled: true, integrations: {} } } },
      edgeFunction: {},
      analyticsNextEnabled: true,
      enabledMiddleware: {},
    })
  }

  async #admin(
    url: URL | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<void> {
    const { guard, admin, handleApi, servePage } = this.#parts
    const path = url?.pathname ?? ''
    // All paths from here on can read recorded data, which pages of other sites must not do.
    guard.refuseForeign(request, this.#isPage(path, request))
    if (request.method === 'POST' && admin.hasToken) {
      const isSecure = this.#parts.proxies.isSecure(request)
      if (path === '/login') return admin.login(request, response, notes.address, isSecure)
      if (path === '/logout') return admin.logout(response, isSecure)
    }
    // The files of the page are public: they contain no data, and the page itself asks for the token.
    if ((request.method === 'GET' || request.method === 'HEAD') && servePage(path, request, response)) return
    const { address } = notes
    const { isReader } = admin.check(request, address)
    if (url !== undefined && (await handleApi({ address, isReader }, url, request, response))) return
    throw notFound()
  }

  /** Other sites may link to the page itself. */
  #isPage(path: string, request: IncomingMessage): boolean {
    return request.method === 'GET' && !path.startsWith('/api/') && !path.startsWith('/v1/')
  }

  #answerProblem(
    cause: unknown,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): void {
    if (cause instanceof HttpProblem) notes.refused(cause)
    if (response.headersSent || response.destroyed) {
      response.destroy()
      return
    }
    if (cause instanceof HttpProblem) return this.#reply(request, response, cause)
    this.#parts.onFault('a request could not be handled', cause)
    const wait = { 'retry-after': '5' }
    const problem = isStoreUnavailable(cause)
      ? new HttpProblem(503, 'storage', 'the store is unavailable: /readyz says why', wait)
      : new HttpProblem(503, 'fault', 'the collector could not handle this', wait)
    notes.refused(problem)
    this.#reply(request, response, problem)
  }

  #reply(request: IncomingMessage, response: ServerResponse, problem: HttpProblem): void {
    // The rest of a body that was cut would otherwise be read as the next request.
    if (!request.complete && request.readableFlowing === false)
      replyEarly(request, response, problem, this.#parts.clock)
    else replyProblem(response, problem)
  }
}

/** Whether a request is recorded: requests of clients are, and refused requests for the page and its API. */
function isWorthIt(path: string, request: IncomingMessage, status: number): boolean {
  // Health probes come every few seconds, and not from clients.
  if (OPS_PATHS.has(path) && status !== 401 && status !== 403) return false
  if (path.startsWith('/v1/') || path === '/token' || status === 403) return true
  // A request without a token is not a failed login: a browser sends such a request when its user opens the page.
  if (status === 401) return path === '/login' || request.headers.authorization !== undefined
  // Requests of the page, and requests that browsers send by themselves, are not from clients.
  const isPageOrApi = path === '/' || path.startsWith('/api/')
  return status >= 400 && !isPageOrApi && request.headers['sec-fetch-site'] === undefined
}

function notFound(): HttpProblem {
  return new HttpProblem(404, 'not_found', 'there is nothing at this address')
}

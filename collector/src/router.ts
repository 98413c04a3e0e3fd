import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminGate } from './auth/admin.ts'
import type { Clock } from './clock.ts'
import { answerProblem } from './http/answer-problem.ts'
import type { OriginGuard } from './http/origin.ts'
import { notFound, requireMethod } from './http/reply.ts'
import type { RequestNotes } from './http/request-notes.ts'
import type { RequestRecorder } from './http/request-recorder.ts'
import { brokenOn } from './http/server.ts'
import { readTarget } from './http/target.ts'
import type { TrackingRoutes } from './ingest/tracking-routes.ts'
import type { TrustedProxies } from './network-address.ts'
import { handleOps, OPS_PATHS, type OpsParts } from './ops/ops-api.ts'

export interface RouterParts {
  clock: Clock
  guard: OriginGuard
  proxies: TrustedProxies
  recorder: RequestRecorder
  admin: AdminGate
  routes: TrackingRoutes
  ops: OpsParts
  /** Undefined if the collector issues no tokens. */
  handleToken?:
    | ((request: IncomingMessage, response: ServerResponse, notes: RequestNotes) => Promise<void>)
    | undefined
  /** Resolves with false if the API has no such path. */
  handleApi(url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean>
  /** Returns false if the page has no such file. */
  servePage(path: string, request: IncomingMessage, response: ServerResponse): boolean
  onFault(what: string, cause: unknown): void
}

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
      answerProblem(this.#parts, cause, request, response, notes),
    )
    await notes.handling
  }

  async #route(
    url: URL | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<void> {
    const { guard, routes, ops, admin, handleToken } = this.#parts
    const path = url?.pathname ?? ''
    guard.checkHost(request)
    if (await routes.handle(path, request, response, notes)) return
    if (path === '/token' && handleToken !== undefined) {
      guard.refuseForeign(request, false)
      requireMethod(request, 'POST')
      return handleToken(request, response, notes)
    }
    if (OPS_PATHS.has(path)) {
      guard.refuseForeign(request, false)
      return handleOps(ops, path, request, response, () => admin.check(request))
    }
    return this.#admin(url, request, response)
  }

  async #admin(url: URL | undefined, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { guard, admin, proxies, handleApi, servePage } = this.#parts
    const path = url?.pathname ?? ''
    // All paths from here on can read recorded data, which pages of other sites must not do. They may link to the page itself.
    guard.refuseForeign(request, request.method === 'GET' && !path.startsWith('/api/'))
    if (request.method === 'POST' && admin.hasToken) {
      const isSecure = proxies.isSecure(request)
      if (path === '/login') return admin.login(request, response, isSecure)
      if (path === '/logout') return admin.logout(response, isSecure)
    }
    // The files of the page are public: they contain no data, and the page itself asks for the token.
    if ((request.method === 'GET' || request.method === 'HEAD') && servePage(path, request, response)) return
    admin.check(request)
    if (url !== undefined && (await handleApi(url, request, response))) return
    throw notFound()
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

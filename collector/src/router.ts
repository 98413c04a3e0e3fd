import type { IncomingMessage, ServerResponse } from 'node:http'
import { Authenticator } from './auth/caller.ts'
import { RateLimit } from './auth/rate-limit.ts'
import { Sources } from './auth/sources.ts'
import { handleToken } from './auth/token-api.ts'
import type { TokenServer } from './auth/tokens.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/schema.ts'
import type { FaultInjector } from './faults/injector.ts'
import { answerProblem } from './http/answer-problem.ts'
import { OriginGuard } from './http/origin.ts'
import { requireMethod } from './http/reply.ts'
import type { Exchange } from './http/request-notes.ts'
import { type RequestLog, RequestRecorder } from './http/request-recorder.ts'
import { brokenOn, type ServerHandlers } from './http/server.ts'
import { readTarget } from './http/target.ts'
import { type EventSink, TrackingApi } from './ingest/tracking-api.ts'
import { handleTracking } from './ingest/tracking-routes.ts'
import { TrustedProxies } from './network-address.ts'
import type { OnFault } from './on-fault.ts'
import type { Counts } from './ops/counts.ts'
import { handleOps, OPS_PATHS, type OpsParts } from './ops/ops-api.ts'
import type { TrackingPlan } from './plan/plan.ts'

export interface RouterParts {
  config: Config
  isLocal: boolean
  clock: Clock
  sink: EventSink
  ops: OpsParts
  counts: Counts
  plan: TrackingPlan | null
  onFault: OnFault
  /** Undefined in a process that records no requests. */
  log?: RequestLog
  /** Undefined if no tokens are issued. */
  tokens?: TokenServer | undefined
  faults?: FaultInjector
  /** Handles what is neither the tracking API nor for operators. The host name is checked, and nothing else. */
  other(
    url: URL | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    router: Router,
  ): Promise<void>
}

/** The HTTP side of a collector and of a front: judges requests, answers them, and records them. */
export class Router implements ServerHandlers {
  readonly guard: OriginGuard
  readonly proxies: TrustedProxies
  readonly #parts: RouterParts
  readonly #tracking: TrackingApi
  readonly #recorder: RequestRecorder

  constructor(parts: RouterParts) {
    const { config, isLocal, clock, sink, counts, plan, onFault, log, tokens, faults } = parts
    const { browserOrigins, publicUrl, trustedProxies } = config
    const hostNames = [...config.hostNames, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname])]
    this.#parts = parts
    this.guard = new OriginGuard({ isLocal, browserOrigins, hostNames })
    this.proxies = new TrustedProxies(trustedProxies)
    this.#recorder = new RequestRecorder(log, clock, (status) => counts.ended(status))
    this.#tracking = new TrackingApi({
      ...{ config, clock, sink, faults, onFault, plan: plan ?? undefined },
      authenticator: new Authenticator(config, new Sources(config), tokens),
      rateLimit: new RateLimit(clock),
    })
  }

  request = (request: IncomingMessage, response: ServerResponse): void => {
    const url = readTarget(request.url ?? '')
    const path = url?.pathname ?? request.url ?? ''
    const notes = this.#recorder.begin(request, response, {
      path,
      address: this.proxies.callerOf(request),
      isWorthIt: (status) => isWorthIt(path, request, status),
      brokenOff: () => brokenOn(request.socket),
    })
    const exchange = { request, response, notes }
    notes.handling = this.#route(url, exchange).catch((cause: unknown) =>
      answerProblem(this.#parts, cause, exchange),
    )
  }

  broken: ServerHandlers['broken'] = (address, problem) => this.#recorder.broken(address, problem)

  async #route(url: URL | undefined, exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    const { guard, proxies } = this
    const { ops, tokens, faults, other } = this.#parts
    const path = url?.pathname ?? ''
    guard.checkHost(request)
    const tracking = { guard, proxies, tracking: this.#tracking }
    if (await handleTracking(tracking, path, exchange)) return
    if (path === '/token' && tokens !== undefined) {
      guard.refuseForeign(request, false)
      requireMethod(request, 'POST')
      return handleToken(tokens, faults, exchange)
    }
    if (!OPS_PATHS.has(path)) return other(url, request, response, this)
    guard.refuseForeign(request, false)
    return handleOps(ops, path, request, response)
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

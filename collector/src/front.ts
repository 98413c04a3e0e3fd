import type { IncomingMessage, ServerResponse } from 'node:http'
import { Authenticator } from './auth/caller.ts'
import { RateLimit } from './auth/rate-limit.ts'
import { Sources } from './auth/sources.ts'
import type { Clock } from './clock.ts'
import type { ConfigInput } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { answerProblem } from './http/answer-problem.ts'
import { OriginGuard } from './http/origin.ts'
import { notFound } from './http/reply.ts'
import { RequestNotes } from './http/request-notes.ts'
import { DEFAULT_LIMITS, listen, type RunningServer, type ServerLimits, urlOf } from './http/server.ts'
import { readTarget } from './http/target.ts'
import { TrackingApi } from './ingest/tracking-api.ts'
import { TrackingRoutes } from './ingest/tracking-routes.ts'
import { TrustedProxies, withoutBrackets } from './network-address.ts'
import type { NewEvent } from './new-event.ts'
import { safeOnFault } from './on-fault.ts'
import { type Counted, Counts, metricsText } from './ops/counts.ts'
import { handleOps, OPS_PATHS } from './ops/ops-api.ts'
import { checkAddress, readConfig, readPlan } from './options.ts'
import type { TrackingPlanFile } from './plan/plan.ts'
import { systemClock } from './system-clock.ts'

const CLOSE_GRACE_MS = 5000

/** Options of a front: the tracking API of the collector without its store and its page. */
export interface FrontOptions {
  /**
   * Keeps the events of one request: accepted ones, and those that the service would not accept, with their reason. When it resolves,
   * the request is answered with 200; when it rejects, with 503 and `Retry-After`. Never called without events.
   */
  append(events: readonly NewEvent[]): Promise<void>
  /**
   * The configuration, or the path of a config file: sources, rates, limits of origins and proxies, and the destinations for which
   * each event is planned. `oauth` is not possible: its key is in a collector's store.
   */
  config?: ConfigInput | string
  /** Port to listen on; default 8787. 0 chooses any free port. */
  port?: number
  /** Address to listen on; default 127.0.0.1. */
  host?: string
  /** Must be true to listen on an address that other machines can reach. A front has no TLS. */
  allowPublic?: boolean
  /** A tracking plan, or the path of a file with a plan. Events that violate the plan are marked. */
  plan?: TrackingPlanFile | string
  /** Limits for connections. */
  limits?: Partial<ServerLimits>
  /** Why `/readyz` should answer 503, in one sentence; null if events can be kept. Default: always null. */
  whyNotReady?(): string | null | Promise<string | null>
  /** Further lines for `/metrics`, in the text format of Prometheus. Default: none. */
  metrics?(): string
  /** Called for internal faults. Default: none. */
  onFault?(what: string, cause: unknown): void
  /** The source of times, timers and random numbers, for tests. */
  clock?: Clock
}

/** A front that listens. */
export interface Front extends AsyncDisposable {
  /** Base URL without a slash at the end. */
  readonly url: string
  readonly port: number
  /** Counts since the start, as in `/metrics`. Repeats are not known to a front. */
  counts(): Counted
  /** Answers the requests in flight, for at most five seconds, and closes the port. */
  close(): Promise<void>
}

/**
 * Starts a front: `/v1/*` with the judgement, limits and answers of a collector, and `/healthz`, `/readyz` and `/metrics`.
 *
 * @throws ConfigError when a setting is invalid or the address is public; the system's error when the port is in use.
 */
export async function createFront(options: FrontOptions): Promise<Front> {
  const config = await readConfig(options.config)
  if (config.oauth !== undefined) throw new ConfigError('oauth: a front issues no tokens')
  const host = withoutBrackets(options.host ?? '127.0.0.1')
  const isLocal = await checkAddress(host, options.allowPublic ?? false)
  const plan = await readPlan(options.plan)
  const clock = options.clock ?? systemClock
  const onFault = safeOnFault(options.onFault)
  const counts = new Counts()
  const { browserOrigins, hostNames } = config
  const guard = new OriginGuard({ isLocal, browserOrigins, hostNames })
  const proxies = new TrustedProxies(config.trustedProxies)
  const tracking = new TrackingApi({
    config,
    clock,
    authenticator: new Authenticator(config, new Sources(config), undefined),
    rateLimit: new RateLimit(clock),
    sink: {
      async append(events) {
        if (events.length > 0) await options.append(events)
        for (const { reason } of events) counts.recorded(reason)
        return events
      },
    },
    failure: 'the events cannot be kept',
    plan: plan ?? undefined,
    onFault,
  })
  const routes = new TrackingRoutes({ guard, proxies, tracking })
  const ops = {
    whyNotReady: () => options.whyNotReady?.() ?? null,
    metrics: () => `${metricsText(counts.state)}${options.metrics?.() ?? ''}`,
  }

  async function route(
    request: IncomingMessage,
    response: ServerResponse,
    notes: RequestNotes,
  ): Promise<void> {
    const path = readTarget(request.url ?? '')?.pathname ?? ''
    guard.checkHost(request)
    if (await routes.handle(path, request, response, notes)) return
    if (!OPS_PATHS.has(path)) throw notFound()
    guard.refuseForeign(request, false)
    await handleOps(ops, path, request, response, () => {})
  }

  const server: RunningServer = await listen(
    options.port ?? 8787,
    host,
    { ...DEFAULT_LIMITS, ...options.limits },
    clock,
    {
      request(request, response) {
        const notes = new RequestNotes(undefined, proxies.callerOf(request))
        response.once('close', () => counts.ended(response.headersSent ? response.statusCode : 0))
        void route(request, response, notes).catch((cause: unknown) =>
          answerProblem({ clock, onFault }, cause, request, response, notes),
        )
      },
      broken: (_address, { status }) => counts.ended(status),
    },
  )
  const close = () => server.close(CLOSE_GRACE_MS)
  return {
    url: urlOf(server.address),
    port: server.address.port,
    counts: () => counts.state,
    close,
    [Symbol.asyncDispose]: close,
  }
}

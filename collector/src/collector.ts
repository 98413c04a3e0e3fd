import type { IncomingMessage, ServerResponse } from 'node:http'
import type { About, ApiParts } from './api/api.ts'
import { ClientTurns } from './api/client-turns.ts'
import { PageAssets } from './assets.ts'
import { type ApiCaller, checkAction, isAction } from './auth/access.ts'
import { type AdminAccess, AdminGate } from './auth/admin.ts'
import { Authenticator } from './auth/caller.ts'
import { LoginLimit } from './auth/login-limit.ts'
import { Sources } from './auth/sources.ts'
import { handleToken } from './auth/token-api.ts'
import type { TokenServer } from './auth/tokens.ts'
import { Backend } from './backend.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/schema.ts'
import type { ReleaseTarget } from './destinations/release.ts'
import { FaultInjector } from './faults/injector.ts'
import type { FaultOptions, FaultRule, FaultState, Faults } from './faults/rules.ts'
import type { Collector } from './handle.ts'
import { OriginGuard } from './http/origin.ts'
import { RequestRecorder } from './http/request-recorder.ts'
import { DEFAULT_LIMITS, listen, type RunningServer, type ServerLimits } from './http/server.ts'
import { Turns } from './http/turns.ts'
import { TrackingApi } from './ingest/tracking-api.ts'
import { limited } from './limited.ts'
import type { CollectorListeners } from './listeners.ts'
import type { Stats } from './live/stats.ts'
import type { WaitOptions } from './live/waiters.ts'
import type { LogWorker } from './log/ports.ts'
import { TrustedProxies } from './network-address.ts'
import { Health } from './ops/health.ts'
import { Meter } from './ops/meter.ts'
import { MeteredLog } from './ops/metered-log.ts'
import { OpsApi } from './ops/ops-api.ts'
import { PartWatch } from './ops/part-watch.ts'
import type { CollectorOptions } from './options.ts'
import type { LoadedPlan } from './plan/plan.ts'
import type { EventRecord } from './record.ts'
import { Router } from './router.ts'
import type { EventFilter, EventQuery } from './search/filter.ts'
import { healthSources, type Shared } from './shared.ts'
import type { EventStore, LocalRecords } from './store/event-store.ts'
import type { RateLimits } from './store/ports.ts'

const CLOSE_GRACE_MS = 5000
/** Longest wait for a store that does not respond. */
const STORE_LIMIT_MS = 3000

export interface CheckedParts {
  clock: Clock
  tokens: TokenServer | undefined
  rateLimits: RateLimits
  access: AdminAccess
  faults: Faults
  plan: LoadedPlan | null
  release: ReleaseTarget | null
  about: About
  isLocal: boolean
  /** Undefined if the process has no log. */
  shared: Shared | undefined
  listeners: CollectorListeners
}

/** Connects the HTTP server, the store, and the parts that work on stored events. */
export class RunningCollector implements Collector {
  readonly #store: EventStore
  readonly #shared: Shared | undefined
  readonly #logWorker: LogWorker | undefined
  readonly #backend: Backend
  readonly #about: About
  readonly #tokens: TokenServer | undefined
  readonly #faults: Faults
  readonly #injector: FaultInjector
  readonly #recorder: RequestRecorder
  readonly #router: Router
  readonly #health: Health
  /** Undefined if there is no log, and the store is in this process. */
  readonly #parts: PartWatch | undefined
  readonly #meter = new Meter()
  readonly #turns = new Turns()
  readonly #queryTurns = new ClientTurns()
  readonly #page = new PageAssets()
  readonly #clock: Clock
  readonly #limits: ServerLimits
  readonly #listeners: CollectorListeners
  #server: RunningServer | undefined
  #closing: Promise<void> | undefined
  url = ''
  port = 0

  constructor(config: Config, store: EventStore, options: CollectorOptions, checked: CheckedParts) {
    const { clock, tokens, faults, release, about, shared, listeners } = checked
    this.#store = store
    this.#shared = shared
    this.#clock = clock
    this.#tokens = tokens
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#listeners = listeners
    this.#health = new Health(healthSources(store, shared), clock)
    const isShared = shared !== undefined || store.local === undefined
    if (isShared) {
      const parts = new PartWatch({ health: this.#health, clock, ...listeners })
      shared?.log.onUnavailable((reason) => parts.note('log', reason))
      this.#parts = parts
    }
    this.#backend = new Backend({
      config,
      store,
      clock,
      release,
      isDelivering: shared?.role !== 'front',
      isShared,
      storeUnavailable: () => this.#parts?.reason('store') ?? null,
      activeFaults: () => faults.active,
      onRecorded: ({ status, reason }) => this.#meter.recorded(status, reason),
      ...listeners,
    })
    this.#about = about
    this.#faults = faults
    this.#injector = new FaultInjector(this.#faults, this.#clock)
    if (shared?.role === 'worker') {
      this.#logWorker = shared.log.newWorker({
        store,
        clock,
        onRead: (events) => this.#backend.planned(events),
        onFault: this.#listeners.onFault,
      })
    }
    this.#recorder = new RequestRecorder(shared?.log.requests ?? store.requests, this.#clock, this.#meter)
    this.#router = this.#createRouter(config, checked)
  }

  #createRouter(config: Config, { access, isLocal, plan, shared, rateLimits }: CheckedParts): Router {
    const { browserOrigins, publicUrl, trustedProxies } = config
    const hostNames =
      publicUrl === undefined ? config.hostNames : [...config.hostNames, new URL(publicUrl).hostname]
    const loginLimit = new LoginLimit(config.failedLoginsPerMinute, this.#clock)
    const tracking = new TrackingApi({
      config,
      clock: this.#clock,
      authenticator: new Authenticator(config, new Sources(config), this.#tokens, loginLimit),
      rateLimit: rateLimits,
      log: new MeteredLog(shared?.log ?? this.#store.log, this.#meter, this.#clock, shared !== undefined),
      writesTo: shared === undefined ? 'database' : 'log',
      turns: this.#turns,
      faults: this.#injector,
      plan: plan?.plan,
      onFault: this.#listeners.onFault,
    })
    const tokens = this.#tokens
    return new Router({
      clock: this.#clock,
      guard: new OriginGuard({ isLocal, browserOrigins, hostNames }),
      proxies: new TrustedProxies(trustedProxies),
      recorder: this.#recorder,
      admin: new AdminGate(access, loginLimit),
      tracking,
      ops: new OpsApi({
        health: this.#health,
        meter: this.#meter,
        version: this.#about.version,
        clock: this.#clock,
        activeFaults: () => this.#faults.active,
        // A process without a store does not know the destinations' deliveries.
        destinations: async () => (shared?.hasStore === false ? [] : this.#backend.destinations()),
      }),
      handleToken:
        tokens &&
        ((request, response, notes) =>
          handleToken(
            { tokens, loginLimit, faults: this.#injector, onFault: this.#listeners.onFault },
            request,
            response,
            notes,
          )),
      handleApi: (...given) => this.#handleApi(...given),
      servePage: (path, request, response) => this.#page.serve(path, request, response),
      onFault: this.#listeners.onFault,
    })
  }

  async listen(port: number, host: string): Promise<void> {
    this.#server = await listen(port, host, this.#limits, this.#clock, {
      request: (request, response) => void this.#router.handle(request, response),
      connection: () => this.#turns.accepted(),
      broken: (address, broken) => this.#recorder.broken(address, broken),
    })
    const { address, family, port: actualPort } = this.#server.address
    this.port = actualPort
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`
    this.#tokens?.setAddress(this.url)
    await this.#backend.start()
    this.#logWorker?.start()
    this.#parts?.start()
  }

  async #handleApi(
    caller: ApiCaller,
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    const { method } = request
    if (!isAction(method)) return this.#routeApi(caller, url, request, response)
    checkAction(caller, this.#about.isProtected, method, url)
    const isKnown = await this.#routeApi(caller, url, request, response)
    if (isKnown && response.statusCode < 400)
      this.#listeners.onAction(`${method} ${url.pathname}`, caller.address)
    return isKnown
  }

  async #routeApi(
    caller: ApiCaller,
    url: URL,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    // Loaded with the first request to the API, so that tests without the API start faster.
    const [{ handleFaults }, { handleTokens }, { handleApi }] = await Promise.all([
      import('./api/faults.ts'),
      import('./api/tokens.ts'),
      import('./api/api.ts'),
    ])
    if (await handleFaults(this.#faults, url, request, response)) return true
    const revoke = this.#tokens && (() => this.revokeTokens())
    if (await handleTokens(revoke, url.pathname, request, response)) return true
    const shared = this.#shared
    if (shared !== undefined) {
      const { handleShared } = await import('./api/log.ts')
      if (await handleShared(shared, this.#about, url, request, response)) return true
    }
    return handleApi(this.#apiParts(), caller, url, request, response)
  }

  #apiParts(): ApiParts {
    const { stream, waiters } = this.#backend
    return {
      reader: this.#store.reader,
      changes: this.#store.changes,
      stream,
      about: this.#about,
      actions: this.#backend.actions(),
      turns: this.#queryTurns,
      now: () => this.#clock.now(),
      setTimer: (run, delayMs) => this.#clock.setTimer(run, delayMs),
      stats: () => this.stats(),
      wait: (options, signal) => waiters.waitInPages(options, signal),
      log: this.#shared?.log,
    }
  }

  waitFor(options: WaitOptions): Promise<EventRecord[]> {
    return this.#backend.waiters.wait(options)
  }

  events(query: EventQuery = {}): EventRecord[] {
    return this.#local.events(query)
  }

  get #local(): LocalRecords {
    const { local } = this.#store
    if (local !== undefined) return local
    throw new Error(
      'the store is not in this process and cannot be read synchronously: use waitFor, or ask /api/events',
    )
  }

  findLast(filter: EventFilter = {}): EventRecord | undefined {
    return this.#local.events({ ...filter, order: 'newest', limit: 1 })[0]
  }

  count(filter: EventFilter = {}): number {
    return this.#local.count(filter)
  }

  stats(): Stats {
    return this.#backend.stats()
  }

  clear(): Promise<void> {
    return this.#store.clear()
  }

  respondNext(fault: FaultOptions): FaultRule {
    return this.#faults.add(fault)
  }

  faults(): FaultState {
    return this.#faults.state()
  }

  clearFaults(): void {
    this.#faults.clear()
  }

  async revokeTokens(): Promise<void> {
    await this.#tokens?.revokeTokens()
  }

  drain(): void {
    this.#health.drain()
    this.#server?.drain()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#health.drain()
    this.#parts?.close()
    this.#backend.hangUp()
    this.#injector.close()
    await this.#server?.close(CLOSE_GRACE_MS)
    // All connections are closed. Events that are still unwritten were not acknowledged to their clients.
    const cancel = this.#clock.setTimer(() => this.#store.cut?.(), STORE_LIMIT_MS)
    await limited(this.#recorder.settled(), STORE_LIMIT_MS, this.#clock, () => {})
    await this.#logWorker?.close()
    await this.#shared?.log.close()
    await this.#backend.close()
    cancel()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

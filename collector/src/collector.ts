import type { IncomingMessage, ServerResponse } from 'node:http'
import type { About, ApiParts } from './api/asking.ts'
import { PageAssets } from './assets.ts'
import { type AdminAccess, AdminGate } from './auth/admin.ts'
import { Authenticator } from './auth/caller.ts'
import { RateLimit } from './auth/rate-limit.ts'
import { Sources } from './auth/sources.ts'
import { handleToken } from './auth/token-api.ts'
import type { TokenServer } from './auth/tokens.ts'
import { EventChanges } from './changes/changes.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config/schema.ts'
import { Deliverer } from './destinations/deliverer.ts'
import type { ReleaseTarget } from './destinations/release.ts'
import { FaultInjector } from './faults/injector.ts'
import type { FaultOptions, FaultRule, FaultState, Faults } from './faults/rules.ts'
import { type Feed, openFeed } from './feed.ts'
import type { Collector } from './handle.ts'
import { OriginGuard } from './http/origin.ts'
import { RequestRecorder } from './http/request-recorder.ts'
import { DEFAULT_LIMITS, listen, type RunningServer, type ServerLimits, urlOf } from './http/server.ts'
import { TrackingApi } from './ingest/tracking-api.ts'
import { TrackingRoutes } from './ingest/tracking-routes.ts'
import { type Stats, StatsKeeper } from './live/stats.ts'
import { LiveStream } from './live/stream.ts'
import { Waiters, type WaitOptions } from './live/waiters.ts'
import { TrustedProxies } from './network-address.ts'
import type { NewEvent } from './new-event.ts'
import type { OnFault } from './on-fault.ts'
import { Counts, metricsText } from './ops/counts.ts'
import type { TrackingPlan } from './plan/plan.ts'
import type { EventRecord } from './record.ts'
import { Router } from './router.ts'
import { type EventFilter, type EventQuery, searchOf } from './search/filter.ts'
import type { Written } from './store/commit.ts'
import type { QueryContext } from './store/queries/context.ts'
import { allEvents, countEvents } from './store/queries/events.ts'
import { sql } from './store/sql.ts'
import type { Store } from './store/store.ts'

const CLOSE_GRACE_MS = 5000

export interface CollectorParts {
  config: Config
  store: Store
  clock: Clock
  tokens: TokenServer | undefined
  access: AdminAccess
  faults: Faults
  plan: TrackingPlan | null
  release: ReleaseTarget | null
  about: About
  isLocal: boolean
  limits: Partial<ServerLimits> | undefined
  onFault: OnFault
}

/** Connects the HTTP server, the store, and the parts that work on stored events. */
export class RunningCollector implements Collector {
  readonly #parts: CollectorParts
  readonly #comparison: EventChanges
  readonly #stats: StatsKeeper
  readonly #stream: LiveStream
  readonly #waiters: Waiters
  readonly #deliverers: Deliverer[]
  readonly #injector: FaultInjector
  readonly #recorder: RequestRecorder
  readonly #router: Router
  readonly #counts = new Counts()
  readonly #page = new PageAssets()
  #server: RunningServer | undefined
  #feed: Feed | undefined
  #closing: Promise<void> | undefined
  url = ''
  port = 0

  constructor(parts: CollectorParts) {
    const { config, store, clock, faults, onFault } = parts
    this.#parts = parts
    this.#comparison = new EventChanges(store.database, clock, onFault)
    this.#stats = new StatsKeeper(clock, store.totals)
    this.#stream = new LiveStream({ store, faults, clock, stats: (sources) => this.#stats.snapshot(sources) })
    this.#waiters = new Waiters(() => this.#context(), store.changes, clock)
    this.#deliverers = config.destinations
      .filter(({ enabled }) => enabled)
      .map((one) => new Deliverer(one, { queue: store.deliveries, clock, onFault }))
    this.#injector = new FaultInjector(faults, clock)
    this.#recorder = new RequestRecorder(store, clock, this.#counts)
    this.#router = this.#newRouter()
  }

  #context(): QueryContext {
    const { store, plan, clock } = this.#parts
    return { database: store.database, persons: store.persons, plan, nowMs: clock.now() }
  }

  #newRouter(): Router {
    const { config, store, clock, tokens, access, plan, isLocal, onFault } = this.#parts
    const { browserOrigins, publicUrl, trustedProxies } = config
    const hostNames =
      publicUrl === undefined ? config.hostNames : [...config.hostNames, new URL(publicUrl).hostname]
    const guard = new OriginGuard({ isLocal, browserOrigins, hostNames })
    const proxies = new TrustedProxies(trustedProxies)
    const tracking = new TrackingApi({
      config,
      clock,
      authenticator: new Authenticator(config, new Sources(config), tokens),
      rateLimit: new RateLimit(clock),
      sink: {
        append: (events) => this.#append(events),
        refused: (events) => store.append(events),
      },
      failure: 'the database cannot write',
      faults: this.#injector,
      plan: plan ?? undefined,
      onFault,
    })
    return new Router({
      clock,
      guard,
      proxies,
      recorder: this.#recorder,
      admin: new AdminGate(access),
      routes: new TrackingRoutes({ guard, proxies, tracking }),
      ops: { whyNotReady: () => store.whyNotReady(), metrics: () => this.#metrics() },
      handleToken:
        tokens &&
        ((request, response, notes) => handleToken(tokens, this.#injector, request, response, notes)),
      handleApi: (...given) => this.#handleApi(...given),
      servePage: (path, request, response) => this.#page.serve(path, request, response),
      onFault,
    })
  }

  async #append(events: readonly NewEvent[]): Promise<Written[]> {
    const kept = await this.#parts.store.append(events)
    for (const { reason } of kept) this.#counts.recorded(reason)
    return kept
  }

  #metrics(): string {
    const { database } = this.#parts.store
    const pending = database.number(sql`SELECT count(*) AS value FROM delivery WHERE state = 'pending'`)
    return metricsText(this.#counts.state, [
      {
        name: 'trackpost_collector_deliveries_pending',
        help: 'Deliveries that wait for an attempt.',
        value: pending,
      },
      {
        name: 'trackpost_collector_database_bytes',
        help: 'Bytes of the database in use.',
        value: database.usedBytes,
      },
    ])
  }

  async listen(port: number, host: string): Promise<void> {
    const { clock, limits, tokens } = this.#parts
    this.#server = await listen(port, host, { ...DEFAULT_LIMITS, ...limits }, clock, {
      request: (request, response) => void this.#router.handle(request, response),
      broken: (address, broken) => this.#recorder.broken(address, broken),
    })
    this.port = this.#server.address.port
    this.url = urlOf(this.#server.address)
    if (tokens !== undefined) tokens.address = this.url
    this.#follow()
  }

  /** Tells the parts that work on stored events what is new. */
  #follow(): void {
    this.#parts.store.changes.subscribe({
      committed: (events) => {
        this.#stats.committed(events)
        if (events.length === 0) return
        this.#waiters.news()
        this.#comparison.news()
        this.#wake()
      },
      changed: () => this.#waiters.news(),
      cleared: () => {
        this.#stats.clear()
        this.#waiters.cleared()
      },
    })
    this.#comparison.news()
    this.#wake()
  }

  /** @param isAsked Whether a user has requested deliveries. */
  #wake(isAsked = false): void {
    for (const deliverer of this.#deliverers) deliverer.wake(isAsked)
  }

  /**
   * Shows the events of a stream too. Their destinations get them from others.
   *
   * @throws ConfigError when the stream cannot be opened.
   */
  async attach(address: string): Promise<void> {
    const { onFault } = this.#parts
    this.#feed = await openFeed(address, {
      append: async (events) => {
        await this.#append(events.map(({ requestId: _, ...event }) => ({ ...event, deliveries: [] })))
      },
      onFault,
    })
    this.#parts.about.log = this.#feed.address
  }

  async #handleApi(url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    // Loaded with the first request to the API, so that tests without the API start faster.
    const { handleApi } = await import('./api/api.ts')
    return handleApi(this.#apiParts(), url, request, response)
  }

  #apiParts(): ApiParts {
    return {
      ...this.#parts,
      stream: this.#stream,
      waiters: this.#waiters,
      comparison: this.#comparison,
      context: () => this.#context(),
      url: () => this.url,
      stats: () => this.stats(),
      wake: () => this.#wake(true),
    }
  }

  waitFor(options: WaitOptions): Promise<EventRecord[]> {
    return this.#waiters.wait(options)
  }

  events({ order = 'oldest', limit, after, ...filter }: EventQuery = {}): EventRecord[] {
    return allEvents(this.#context(), { search: searchOf(filter), after, order, limit })
  }

  findLast(filter: EventFilter = {}): EventRecord | undefined {
    return this.events({ ...filter, order: 'newest', limit: 1 })[0]
  }

  count({ after, ...filter }: EventFilter = {}): number {
    return countEvents(this.#context(), { search: searchOf(filter), after })
  }

  stats(): Stats {
    return this.#stats.snapshot()
  }

  async clear(): Promise<void> {
    this.#parts.store.clear()
  }

  respondNext(fault: FaultOptions): FaultRule {
    return this.#parts.faults.add(fault)
  }

  faults(): FaultState {
    return this.#parts.faults.state()
  }

  clearFaults(): void {
    this.#parts.faults.clear()
  }

  async revokeTokens(): Promise<void> {
    this.#parts.tokens?.revokeTokens()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#feed?.close()
    // Waits, streams and hanging requests keep connections open.
    this.#waiters.close()
    this.#stream.close()
    this.#injector.close()
    this.#comparison.close()
    await this.#server?.close(CLOSE_GRACE_MS)
    await this.#recorder.settled()
    // Pending deliveries stay in the store.
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.close()))
    this.#parts.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

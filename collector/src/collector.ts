import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ApiParts, CollectorParts } from './api/asking.ts'
import { PageAssets } from './assets.ts'
import { EventChanges } from './changes/changes.ts'
import { Deliverer } from './destinations/deliverer.ts'
import { FaultInjector } from './faults/injector.ts'
import type { FaultOptions, FaultRule, FaultState } from './faults/rules.ts'
import { type Feed, openFeed } from './feed.ts'
import type { Collector } from './handle.ts'
import { notFound } from './http/reply.ts'
import { listen, type RunningServer, type ServerLimits } from './http/server.ts'
import { type Stats, StatsKeeper } from './live/stats.ts'
import { LiveStream } from './live/stream.ts'
import { Waiters, type WaitOptions } from './live/waiters.ts'
import type { NewEvent } from './new-event.ts'
import { Counts, metric } from './ops/counts.ts'
import type { EventRecord } from './record.ts'
import { Router } from './router.ts'
import { type EventFilter, type EventQuery, searchOf } from './search/filter.ts'
import type { Written } from './store/commit.ts'
import type { QueryContext } from './store/queries/context.ts'
import { allEvents, countEvents } from './store/queries/events.ts'
import { sql } from './store/sql.ts'

/** Connects the HTTP server, the store, and the parts that work on stored events. */
export class RunningCollector implements Collector {
  readonly #parts: CollectorParts
  readonly #api: ApiParts
  readonly #deliverers: Deliverer[]
  readonly #injector: FaultInjector
  readonly #router: Router
  readonly #stats: StatsKeeper
  readonly #counts = new Counts()
  readonly #page = new PageAssets()
  #server: RunningServer | undefined
  #feed: Feed | undefined
  #closing: Promise<void> | undefined

  constructor(parts: CollectorParts) {
    const { config, store, clock, faults, admin, onFault } = parts
    this.#parts = parts
    this.#stats = new StatsKeeper(clock, store.totals)
    this.#injector = new FaultInjector(faults, clock)
    const context = () => this.#context()
    this.#api = {
      ...parts,
      context,
      stream: new LiveStream({ store, faults, clock, stats: (sources) => this.#stats.snapshot(sources) }),
      waiters: new Waiters(context, store.changes, clock),
      comparison: new EventChanges(store.database, clock, onFault),
      startedAt: new Date(clock.now()).toISOString(),
      log: () => this.#feed?.address ?? null,
      url: () => this.url,
      stats: () => this.stats(),
      wake: () => this.#wake(true),
    }
    this.#deliverers = config.destinations
      .filter(({ enabled }) => enabled)
      .map((one) => new Deliverer(one, { queue: store.deliveries, clock, onFault }))
    this.#router = new Router({
      ...parts,
      counts: this.#counts,
      log: store,
      faults: this.#injector,
      sink: {
        failure: 'the database cannot write',
        append: (events) => this.#append(events),
        refused: (events) => store.append(events),
      },
      ops: {
        whyNotReady: () => store.whyNotReady(),
        metrics: () => this.#metrics(),
        checkAdmin: (request) => admin.check(request),
      },
      other: (...given) => this.#other(...given),
    })
  }

  get url(): string {
    return this.#server?.url ?? ''
  }

  get port(): number {
    return this.#server?.port ?? 0
  }

  #context(): QueryContext {
    const { store, plan, clock } = this.#parts
    const { database, persons, messageIds } = store
    return { database, persons, messageIds, plan, nowMs: clock.now() }
  }

  async #other(
    url: URL | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    { guard, proxies }: Router,
  ): Promise<void> {
    const { admin } = this.#parts
    const path = url?.pathname ?? ''
    // All paths from here on can read recorded data, which pages of other sites must not do. They may link to the page itself.
    guard.refuseForeign(request, request.method === 'GET' && !path.startsWith('/api/'))
    if (request.method === 'POST' && admin.hasToken) {
      const isSecure = proxies.isSecure(request)
      if (path === '/login') return admin.login(request, response, isSecure)
      if (path === '/logout') return admin.logout(response, isSecure)
    }
    // The files of the page are public: they contain no data, and the page itself asks for the token.
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    if (isRead && this.#page.serve(path, request, response)) return
    admin.check(request)
    // Loaded with the first request to the API, so that tests without the API start faster.
    const { handleApi } = await import('./api/api.ts')
    if (url === undefined || !(await handleApi(this.#api, url, request, response))) throw notFound()
  }

  async #append(events: readonly NewEvent[]): Promise<Written[]> {
    const kept = await this.#parts.store.append(events)
    for (const { reason } of kept) this.#counts.recorded(reason)
    return kept
  }

  #metrics(): string {
    const { database } = this.#parts.store
    const pending = database.number(sql`SELECT count(*) AS value FROM delivery WHERE state = 'pending'`)
    return [
      this.#counts.text,
      metric('gauge', 'deliveries_pending', 'Deliveries that wait for an attempt.', pending),
      metric('gauge', 'database_bytes', 'Bytes of the database in use.', database.usedBytes),
    ].join('')
  }

  async listen(port: number, host: string, limits: Partial<ServerLimits> | undefined): Promise<void> {
    const { clock, tokens } = this.#parts
    this.#server = await listen(port, host, limits, clock, this.#router)
    if (tokens !== undefined) tokens.address = this.url
    this.#follow()
  }

  #follow(): void {
    const { stream, waiters, comparison } = this.#api
    this.#parts.store.changes.listener = {
      committed: (events) => {
        stream.news()
        if (events.length === 0) return
        this.#stats.committed(events)
        waiters.news()
        comparison.news()
        this.#wake()
      },
      changed: () => {
        stream.news()
        waiters.news()
      },
      cleared: () => {
        stream.news()
        this.#stats.clear()
        waiters.news()
      },
    }
    comparison.news()
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
    this.#feed = await openFeed(address, {
      onFault: this.#parts.onFault,
      append: async (events) => {
        await this.#append(events.map(({ requestId: _, ...event }) => ({ ...event, deliveries: [] })))
      },
    })
  }

  waitFor(options: WaitOptions): Promise<EventRecord[]> {
    return this.#api.waiters.wait(options)
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
    this.#api.waiters.close()
    this.#api.stream.close()
    this.#injector.close()
    this.#api.comparison.close()
    await this.#server?.close()
    // Pending deliveries stay in the store.
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.close()))
    this.#parts.store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

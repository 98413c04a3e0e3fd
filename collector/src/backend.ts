import type { Actions } from './api/actions.ts'
import type { Clock } from './clock.ts'
import type { Config, DestinationConfig } from './config/schema.ts'
import { Deliverer } from './destinations/deliverer.ts'
import { type ReleaseTarget, releaseEvent } from './destinations/release.ts'
import type { Listeners } from './listeners.ts'
import { type Stats, StatsKeeper } from './live/stats.ts'
import { LiveStream } from './live/stream.ts'
import { Waiters } from './live/waiters.ts'
import type { TrackingPlan } from './plan/plan.ts'
import { EVERYTHING } from './search/syntax.ts'
import type { QueryContext } from './store/queries/context.ts'
import { destinations } from './store/queries/destinations.ts'
import { eventDetail } from './store/queries/event-detail.ts'
import { allEvents, countEvents } from './store/queries/events.ts'
import type { DestinationState } from './store/query-results.ts'
import type { Store } from './store/store.ts'

export interface BackendOptions extends Listeners {
  config: Config
  store: Store
  plan: TrackingPlan | null
  clock: Clock
  release: ReleaseTarget | null
  /** Returns the number of faults that requests may get at the moment. */
  activeFaults(): number
}

/** The parts that work on stored events: the live stream, the counts, waits and deliveries. */
export class Backend {
  readonly stream: LiveStream
  readonly waiters: Waiters
  readonly #options: BackendOptions
  readonly #stats: StatsKeeper
  readonly #deliverers: Deliverer[]

  constructor(options: BackendOptions) {
    const { config, store, clock, onFault, onRecovery } = options
    this.#options = options
    this.#stats = new StatsKeeper(clock, store.totals)
    this.stream = new LiveStream(
      (sources) => this.#stats.snapshot(sources),
      () => store.whyNotReady(),
      () => options.activeFaults(),
      store.changes,
      clock,
    )
    this.waiters = new Waiters(
      {
        lastSeq: () => store.lastSeq,
        count: (query) => countEvents(this.context, query),
        records: (query, limit) => allEvents(this.context, { ...query, order: 'oldest', limit }),
        newest: (limit) => allEvents(this.context, { search: EVERYTHING, order: 'newest', limit }),
      },
      clock,
    )
    this.#deliverers = config.destinations
      .filter(({ enabled }) => enabled)
      .map(
        (destination) => new Deliverer(destination, { queue: store.deliveries, clock, onFault, onRecovery }),
      )
  }

  /** What every query reads from, now. */
  get context(): QueryContext {
    const { store, plan, clock } = this.#options
    return { database: store.database, persons: store.persons, plan, nowMs: clock.now() }
  }

  start(): void {
    this.#options.store.changes.subscribe({
      committed: (events) => {
        this.#stats.committed(events)
        if (events.length === 0) return
        this.waiters.news()
        this.#wake()
      },
      changed: () => this.waiters.news(),
      cleared: () => {
        this.#stats.clear()
        this.waiters.cleared()
      },
    })
    this.#wake()
  }

  stats(sources?: number): Stats {
    return this.#stats.snapshot(sources)
  }

  #wake(isAsked = false): void {
    for (const deliverer of this.#deliverers) deliverer.wake(isAsked)
  }

  destinations(): DestinationState[] {
    const names = this.#options.config.destinations.map(({ name }) => name)
    return destinations(this.context, names)
  }

  actions(): Actions {
    const { config, release, store } = this.#options
    const named = (name: string) => config.destinations.find((one) => one.name === name)
    return {
      clear: () => store.clear(),
      delete: (ids) => store.delete(ids),
      destinations: () =>
        this.destinations().map((state) => {
          const own = named(state.name)
          return { ...(own && publicFacts(own)), ...state, warning: null }
        }),
      retry: (name, ids) => {
        if (named(name) === undefined) return undefined
        const retried = store.deliveries.retry(name, ids)
        this.#wake(true)
        return retried
      },
      replay: (id, names) => {
        const event = eventDetail(this.context, id)
        if (event === null) return undefined
        if (event.status !== 'accepted') return null
        const wanted = names ?? event.destinations.map(({ name }) => name)
        const replayed = wanted.filter((name) => store.deliveries.replay(name, id))
        this.#wake(true)
        return replayed
      },
      releaseTarget: () => release?.url ?? null,
      release: async (id) => {
        const event = eventDetail(this.context, id)
        if (event === null || release === null) return { released: false, reason: 'there is no such event' }
        return releaseEvent(release, event)
      },
    }
  }

  /** Ends waits and streams, because they keep connections open. */
  hangUp(): void {
    this.waiters.close()
    this.stream.close()
  }

  /** Pending deliveries stay in the store. */
  async close(): Promise<void> {
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.close()))
    this.#options.store.close()
  }
}

function publicFacts(destination: DestinationConfig): {
  name: string
  type: string
  target: string
  isEnabled: boolean
} {
  const { name, type, enabled: isEnabled } = destination
  if (destination.type === 'file') return { name, type, target: destination.path, isEnabled }
  // Credentials and the query are left out, since they may be secret.
  const { origin, pathname } = new URL(destination.url)
  return { name, type, target: `${origin}${pathname}`, isEnabled }
}

import type { Actions } from './api/actions.ts'
import type { Clock } from './clock.ts'
import type { Config, DestinationConfig } from './config/schema.ts'
import { Deliverer } from './destinations/deliverer.ts'
import { type ReleaseTarget, releaseEvent } from './destinations/release.ts'
import { DestinationWatch } from './destinations/watch.ts'
import type { Listeners } from './listeners.ts'
import { type Stats, StatsKeeper } from './live/stats.ts'
import { LiveStream } from './live/stream.ts'
import { Waiters, type WaitSource } from './live/waiters.ts'
import type { EventRecord, EventSummary } from './record.ts'
import { EVERYTHING } from './search/syntax.ts'
import type { EventStore } from './store/event-store.ts'
import type { NewEvent, NewRequest } from './store/ports.ts'
import type { DestinationState } from './store/query-results.ts'

export interface BackendOptions extends Listeners {
  config: Config
  store: EventStore
  clock: Clock
  release: ReleaseTarget | null
  isDelivering: boolean
  /** Whether other processes share the store. They may have another configuration. */
  isShared: boolean
  /** Returns why the store is unavailable; null if it is available, as far as this process knows. */
  storeUnavailable(): string | null
  /** Returns the number of faults that requests may get at the moment. */
  activeFaults(): number
  /** Called for every event that this process has recorded. */
  onRecorded(event: EventSummary): void
}

/** The parts that work on stored events: the live stream, the counts, waits and deliveries. */
export class Backend {
  readonly stream: LiveStream
  readonly waiters: Waiters
  readonly #options: BackendOptions
  readonly #store: EventStore
  readonly #stats: StatsKeeper
  readonly #deliverers: Deliverer[]
  readonly #watch: DestinationWatch

  constructor(options: BackendOptions) {
    const { config, store, clock, isDelivering, onFault, onRecovery } = options
    this.#options = options
    this.#store = store
    this.#stats = new StatsKeeper(clock, () => store.totals(), onFault)
    const snapshot = (sources: number) => this.#stats.snapshot(sources)
    this.stream = new LiveStream(
      snapshot,
      () => options.storeUnavailable(),
      () => options.activeFaults(),
      store.changes,
      clock,
    )
    this.waiters = new Waiters(waitSource(store), clock)
    const { destinations } = config
    const queue = store.deliveries
    this.#watch = new DestinationWatch({ destinations, isDelivering, queue, clock, onFault })
    this.#deliverers = destinations
      .filter(({ enabled }) => enabled && isDelivering)
      .map((destination) => new Deliverer(destination, { queue, clock, onFault, onRecovery }))
  }

  async start(): Promise<void> {
    await this.#stats.load()
    this.#store.start({
      committed: (events, requests) => this.#committed(events, requests),
      cleared: () => {
        this.#stats.clear()
        this.waiters.cleared()
      },
      changed: () => {
        this.#stats.outdated()
        this.waiters.news()
        this.#wake()
      },
    })
    // The listener above does not hear of results of deliveries of this process.
    this.#store.changes.subscribe(() => this.waiters.news())
    if (this.#options.isShared) this.#watch.start()
    this.#wake()
  }

  /** Must be called with the events of each request that another process has accepted. */
  planned(events: readonly NewEvent[]): void {
    this.#watch.planned(events)
  }

  stats(sources?: number): Stats {
    return this.#stats.snapshot(sources)
  }

  #wake(isAsked = false): void {
    for (const deliverer of this.#deliverers) deliverer.wake(isAsked)
  }

  #committed(events: readonly EventSummary[], requests: readonly NewRequest[]): void {
    this.#stats.add(events, requests)
    for (const event of events) this.#options.onRecorded(event)
    if (events.length === 0) return
    this.waiters.news()
    this.#wake()
  }

  /** Returns the configured destinations, and all others that have pending deliveries but no process that delivers. */
  async destinations(): Promise<DestinationState[]> {
    return (await this.#destinations()).states
  }

  async #destinations(): Promise<{ states: DestinationState[]; unattended: Map<string, number> }> {
    const unattended = this.#options.isShared ? await this.#watch.unattended() : new Map<string, number>()
    const own = this.#options.config.destinations.map(({ name }) => name)
    const names = [...new Set([...own, ...unattended.keys()])]
    const states = names.length === 0 ? [] : await this.#store.reader.ask('destinations', { names })
    return { states, unattended }
  }

  actions(): Actions {
    const { config, release } = this.#options
    const { deliveries, reader } = this.#store
    const named = (name: string) => config.destinations.find((one) => one.name === name)
    return {
      clear: () => this.#store.clear(),
      delete: (ids) => this.#store.delete(ids),
      destinations: async () => {
        const { states, unattended } = await this.#destinations()
        return states.map((state) => {
          const own = named(state.name)
          const warning = this.#watch.warning(state.name, unattended)
          return { ...(own === undefined ? UNKNOWN : publicFacts(own)), ...state, warning }
        })
      },
      retry: async (name, ids) => {
        if (named(name) === undefined) return undefined
        const retried = await deliveries.retry(name, ids)
        this.#wake(true)
        return retried
      },
      replay: async (id, names) => {
        const event = await reader.ask('event', { id })
        if (event === null) return undefined
        if (event.status !== 'accepted') return null
        const wanted = names ?? event.destinations.map(({ name }) => name)
        const replayed: string[] = []
        for (const name of wanted) if (await deliveries.replay(name, id)) replayed.push(name)
        this.#wake(true)
        return replayed
      },
      releaseTarget: () => release?.url ?? null,
      release: async (id) => {
        const event = await reader.ask('event', { id })
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
    this.#watch.close()
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.close()))
    await this.#store.close()
  }
}

function waitSource({ changes, reader }: EventStore): WaitSource {
  const full = { order: 'oldest', isFull: true } as const
  return {
    lastSeq: () => changes.state().lastSeq,
    revision: () => changes.state().revision,
    newest: async (limit) => {
      const query = { search: EVERYTHING, order: 'newest', isFull: false, limit } as const
      return (await reader.ask('events', query)).events
    },
    find: async (query, page, signal) => {
      const { events, next } = await reader.ask('events', { ...query, ...full, ...page }, signal)
      return { records: events as EventRecord[], next }
    },
    count: (query, cursor, signal) => reader.ask('count', { ...query, cursor }, signal),
  }
}

/** Describes a destination that only other processes have in their configuration. */
const UNKNOWN = { type: 'unknown', target: '', isEnabled: false }

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
  const target = `${origin}${pathname}`
  if (destination.type === 'webhook') return { name, type, target, isEnabled }
  const { database, table } = destination
  return { name, type, target: `${target.replace(/\/$/, '')}, table ${database}.${table}`, isEnabled }
}

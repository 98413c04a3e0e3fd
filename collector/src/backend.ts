import type { Actions } from './api/actions.ts'
import type { Clock } from './clock.ts'
import type { Config, DestinationConfig } from './config/schema.ts'
import { Deliverer } from './destinations/deliverer.ts'
import { type ReleaseTarget, releaseEvent } from './destinations/release.ts'
import { type Stats, StatsKeeper } from './live/stats.ts'
import { LiveStream } from './live/stream.ts'
import { Waiters, type WaitQuery } from './live/waiters.ts'
import type { TrackingPlan, TrackingPlanFile } from './plan/plan.ts'
import type { EventRecord, EventSummary } from './record.ts'
import type { EventLog, NewRequest, RequestLog } from './store/ports.ts'
import { Checkpointer } from './store/sqlite/checkpointer.ts'
import { type EventReader, InlineReader, WorkerReader } from './store/sqlite/reader.ts'
import { MEMORY, type Store } from './store/sqlite/store.ts'
import { Tail } from './store/sqlite/tail.ts'
import { Writer } from './store/sqlite/writer.ts'

const PAGE = 500

/** What the back half is made with. */
export interface BackendOptions {
  config: Config
  store: Store
  clock: Clock
  /** The plan, and the file for a thread that makes its own. */
  plan: { plan: TrackingPlan; file: TrackingPlanFile } | null
  release: ReleaseTarget | null
  onFault(what: string, cause: unknown): void
}

/** Everything behind the log: what is kept, told, counted and carried on. */
export class Backend {
  readonly tail: Tail
  readonly stream: LiveStream
  readonly waiters: Waiters
  readonly reader: EventReader
  readonly log: EventLog
  readonly requests: RequestLog
  readonly #options: BackendOptions
  readonly #store: Store
  readonly #writer: Writer
  readonly #stats: StatsKeeper
  readonly #deliverers: Deliverer[]
  #checkpointer: Checkpointer | undefined
  #isTrimScheduled = false
  #isClosing = false

  constructor(options: BackendOptions) {
    const { config, store, clock, onFault } = options
    this.#options = options
    this.#store = store
    const plan = options.plan?.plan ?? null
    this.#stats = new StatsKeeper(clock, store)
    this.tail = new Tail(store, clock, {
      changed: () => this.#othersWrote(),
      lost: () =>
        onFault('the database file was removed or replaced', new Error('nothing can be recorded any more')),
    })
    this.stream = new LiveStream((sources) => this.#stats.snapshot(sources), this.tail, clock)
    const isInMemory = store.database.path === MEMORY
    const now = () => clock.now()
    this.reader = isInMemory
      ? new InlineReader(store.database, now, plan)
      : new WorkerReader({ path: store.database.path, plan: options.plan?.file ?? null }, now, onFault)
    this.waiters = new Waiters(this.#waitSource(), clock)
    this.#checkpointer = this.#newCheckpointer()
    this.#writer = new Writer({
      commit: (events, requests) => store.commit(events, requests),
      onCommit: (summaries, requests) => this.#committed(summaries, requests),
      onFault,
      opening: store.opening,
    })
    this.log = {
      append: (events) => this.#writer.append(events),
    }
    this.requests = this.#writer.requests
    this.#deliverers = config.destinations
      .filter(({ enabled }) => enabled)
      .map(
        (destination) =>
          new Deliverer(destination, {
            queue: store.outbox,
            clock,
            onChange: () => this.#delivered(),
            onFault,
          }),
      )
  }

  /** Begins to look for what others write, and to deliver what is owed. */
  start(): void {
    if (this.#store.database.path !== MEMORY) this.tail.start()
    for (const deliverer of this.#deliverers) deliverer.wake()
    this.#scheduleTrim()
  }

  stats(sources?: number): Stats {
    return this.#stats.snapshot(sources)
  }

  #newCheckpointer(): Checkpointer | undefined {
    const { store, onFault } = this.#options
    const { path } = store.database
    return path === MEMORY ? undefined : new Checkpointer(path, () => store.checkpoint(), onFault)
  }

  clear(): void {
    if (this.#store.clear()) {
      this.reader.reopen()
      void this.#checkpointer?.close()
      this.#checkpointer = this.#newCheckpointer()
    }
    this.#stats.clear()
    this.waiters.cleared()
    this.tail.cleared()
    this.#scheduleTrim()
  }

  #committed(summaries: readonly EventSummary[], requests: readonly NewRequest[]): void {
    this.#checkpointer?.committed(summaries.length)
    this.#stats.add(summaries, requests)
    const newest = summaries.at(-1)
    if (newest === undefined) return
    this.tail.committed(newest.seq)
    this.waiters.news()
    for (const deliverer of this.#deliverers) deliverer.wake()
    this.#scheduleTrim()
  }

  #delivered(): void {
    this.#checkpointer?.committed(0)
    this.tail.revised()
  }

  #othersWrote(): void {
    this.#stats.reload()
    this.waiters.news()
    for (const deliverer of this.#deliverers) deliverer.wake()
  }

  /** A little at a time, each time in a turn of its own. */
  #scheduleTrim(): void {
    if (this.#isTrimScheduled) return
    this.#isTrimScheduled = true
    setImmediate(() => {
      this.#isTrimScheduled = false
      if (this.#isClosing) return
      try {
        const { hasDeleted, hasMore, hasSwept } = this.#store.trim()
        if (hasDeleted) {
          this.#stats.outdated()
          this.#checkpointer?.committed(0)
        }
        // What was cleared is room now also in a file that could not grow.
        if (hasSwept) this.#store.checkpoint('TRUNCATE')
        if (hasMore) this.#scheduleTrim()
      } catch (cause) {
        this.#options.onFault('old events could not be deleted', cause)
      }
    })
  }

  #waitSource() {
    const store = this.#store
    const page = (query: WaitQuery, after: number | undefined, limit: number, isFull: boolean) =>
      this.reader.ask('events', { ...query, after, order: 'oldest', limit, isFull })
    return {
      lastSeq: () => store.newestSeq,
      countNew: (query: WaitQuery) => store.countOf(query),
      newest: (limit: number) => store.summaries({ order: 'newest', limit }),
      find: async (query: WaitQuery, limit: number) => {
        const found: EventRecord[] = []
        for (let { after } = query; ; ) {
          const { events, next } = await page(query, after, Math.min(PAGE, limit - found.length), true)
          found.push(...(events as EventRecord[]))
          if (next === null || found.length >= limit) return found
          after = store.seqOf(next)
        }
      },
      count: async (query: WaitQuery, limit: number) => {
        let count = 0
        for (let { after } = query; ; ) {
          const { events, next } = await page(query, after, Math.min(PAGE, limit - count), false)
          count += events.length
          if (next === null || count >= limit) return count
          after = store.seqOf(next)
        }
      },
    }
  }

  /** What the API can change. */
  actions(): Actions {
    const { config, release } = this.#options
    const { outbox } = this.#store
    const named = (name: string) => config.destinations.find((one) => one.name === name)
    const wake = () => {
      for (const deliverer of this.#deliverers) deliverer.wake()
      this.#delivered()
    }
    return {
      clear: () => this.clear(),
      destinations: async () => {
        const states = await this.reader.ask('destinations', {
          names: config.destinations.map(({ name }) => name),
        })
        return config.destinations.map((one, index) => ({ ...publicFacts(one), ...states[index] }))
      },
      retry: async (name, ids) => {
        if (named(name) === undefined) return undefined
        const retried = await outbox.retry(name, ids)
        wake()
        return retried
      },
      replay: async (id, names) => {
        const event = await this.reader.ask('event', { seq: Number(id) })
        if (event === null) return undefined
        if (event.status !== 'accepted') return null
        const wanted = names ?? event.destinations.map(({ name }) => name)
        const replayed = wanted.filter((name) => outbox.replay(name, id))
        wake()
        return replayed
      },
      releaseTarget: () => release?.url ?? null,
      release: async (id) => {
        const event = await this.reader.ask('event', { seq: Number(id) })
        if (event === null || release === null) return { released: false, reason: 'there is no such event' }
        return releaseEvent(release, event)
      },
    }
  }

  /** Stops everything that waits or streams: what holds connections open. */
  hangUp(): void {
    this.waiters.close()
    this.stream.close()
    this.tail.close()
  }

  /** Commits what waits, and lets go of the file. */
  async close(): Promise<void> {
    this.#isClosing = true
    this.#writer.flush()
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.close()))
    await this.reader.close()
    await this.#checkpointer?.close()
    this.#store.close()
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
  // What may be a secret is left out: credentials and the query.
  const { origin, pathname } = new URL(destination.url)
  return { name, type, target: `${origin}${pathname}`, isEnabled }
}

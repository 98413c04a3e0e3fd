import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client'
import type { DestinationState } from '../store/query-results.ts'
import type { PartState } from './health.ts'
import { APPEND_BUCKETS, type Labelled, type Meter } from './meter.ts'

const PREFIX = 'trackpost_collector_'

export interface MetricsParts {
  meter: Meter
  version: string
  parts(): Promise<PartState[]>
  activeFaults(): number
  /** Empty if the destinations are not known. */
  destinations(): Promise<DestinationState[]>
  now(): number
}

/** The metrics of the process itself. All collectors share them: a second registry would observe garbage collection again. */
let ofProcess: Registry | undefined

/** This module and the Prometheus library are loaded with the first request for metrics. */
export class Metrics {
  readonly #parts: MetricsParts
  readonly #registry = new Registry()
  #states: PartState[] = []
  #destinations: DestinationState[] = []

  constructor(parts: MetricsParts) {
    this.#parts = parts
    if (ofProcess === undefined) {
      ofProcess = new Registry()
      collectDefaultMetrics({ register: ofProcess })
    }
    this.#registerCounts()
    this.#registerStates()
    this.#registerDestinations()
  }

  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE

  async text(): Promise<string> {
    const { parts, destinations } = this.#parts
    ;[this.#states, this.#destinations] = await Promise.all([parts(), destinations()])
    return Registry.merge([this.#registry, ofProcess ?? new Registry()]).metrics()
  }

  #registerCounts(): void {
    const { meter, version, activeFaults } = this.#parts
    this.#counter('requests_total', 'Requests that ended, by path and status.', ['path', 'status'], () => [
      ...meter.requests,
    ])
    this.#counter(
      'events_total',
      'Events that this process recorded, by outcome.',
      ['status', 'reason'],
      () => [...meter.events],
    )
    this.#counter(
      'logged_events_total',
      'Events that this process wrote to the log. Duplicates are found only when they are written to the store.',
      ['status', 'reason'],
      () => [...meter.loggedEvents],
    )
    this.#gauge('open_requests', 'Requests in flight, including the one for these metrics.', [], () => [
      { labels: {}, value: meter.openRequests },
    ])
    this.#gauge('info', 'Always 1; the version is in the label.', ['version'], () => [
      { labels: { version }, value: 1 },
    ])
    this.#gauge('active_faults', 'Faults that are injected into responses, to test clients.', [], () => [
      { labels: {}, value: activeFaults() },
    ])
    this.#registry.registerMetric(appendDurations(meter))
  }

  #registerStates(): void {
    const ofStates = (value: (state: PartState) => number | null | undefined) => () =>
      this.#states.flatMap((state) => {
        const known = value(state)
        return known === null || known === undefined ? [] : [{ labels: { part: state.part }, value: known }]
      })
    const gauge = (name: string, help: string, value: (state: PartState) => number | null | undefined) =>
      this.#gauge(name, help, ['part'], ofStates(value))
    gauge('ready', 'Whether a part can store events, 1 or 0.', ({ isReady }) => Number(isReady))
    gauge(
      'waiting_events',
      'Events that this process has accepted and not written yet.',
      ({ waiting }) => waiting,
    )
    gauge(
      'lag_messages',
      'Messages in the log that are not in the store yet, each with all or some of the events of a request.',
      ({ lag }) => lag?.waiting,
    )
    gauge('lag_seconds', 'Age of the oldest message in the log that is not in the store yet.', ({ lag }) =>
      lag === undefined ? undefined : (lag.oldestMs ?? 0) / 1000,
    )
    gauge(
      'store_fill_ratio',
      'How full the disk of the SQLite file is, or the file against its limit, whichever is more, from 0 to 1.',
      ({ fill }) => fill,
    )
    gauge('log_fill_ratio', 'How full the log is, from 0 to 1.', ({ lag }) => lag?.fill)
    gauge(
      'dead_letters',
      'Dead letters: messages that the store refused because of their data, or that could not be decoded.',
      ({ lag }) => lag?.deadLetters,
    )
  }

  #registerDestinations(): void {
    this.#gauge(
      'destination_events',
      'Deliveries to a destination by state, of all processes that share the store.',
      ['destination', 'state'],
      () =>
        this.#destinations.flatMap((destination) =>
          (['pending', 'delivered', 'failed', 'skipped'] as const).map((state) => ({
            labels: { destination: destination.name, state },
            value: destination[state],
          })),
        ),
    )
    this.#gauge(
      'destination_oldest_seconds',
      'Age of the oldest pending delivery to a destination.',
      ['destination'],
      () =>
        this.#destinations.map(({ name, oldestPendingAt }) => ({
          labels: { destination: name },
          value: oldestPendingAt === null ? 0 : (this.#parts.now() - Date.parse(oldestPendingAt)) / 1000,
        })),
    )
  }

  #counter<Name extends string>(
    name: string,
    help: string,
    labelNames: readonly Name[],
    counts: () => Array<Labelled<Name>>,
  ): void {
    new Counter({
      name: `${PREFIX}${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const { labels, count } of counts()) this.inc(labels, count)
      },
    })
  }

  #gauge<Name extends string>(
    name: string,
    help: string,
    labelNames: readonly Name[],
    values: () => Array<{ labels: Partial<Record<Name, string>>; value: number }>,
  ): void {
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset()
        for (const { labels, value } of values()) this.set(labels, value)
      },
    })
  }
}

/** Made from the counts of `Meter`, because a histogram of the library would count only from the time when it is loaded. */
function appendDurations(meter: Meter): Metric {
  const name = `${PREFIX}append_duration_seconds`
  const get = async () => ({
    name,
    help: 'How long it took to write events. Clients wait for this.',
    type: 'histogram',
    aggregator: 'sum',
    values: (['ok', 'failed'] as const).flatMap((result) => {
      const { cumulative, sumSeconds, count } = meter.appends(result)
      const buckets = cumulative.map((value, index) => ({
        labels: { result, le: index < APPEND_BUCKETS.length ? String(APPEND_BUCKETS[index]) : '+Inf' },
        value,
        metricName: `${name}_bucket`,
      }))
      return [
        ...buckets,
        { labels: { result }, value: sumSeconds, metricName: `${name}_sum` },
        { labels: { result }, value: count, metricName: `${name}_count` },
      ]
    }),
  })
  // The registry uses only these two members, but the type requires the whole class.
  return { name, get } as unknown as Metric
}

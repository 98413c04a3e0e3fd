// Reports `stats` and `status` of a client as OpenTelemetry metrics. To run it:
// npm install @opentelemetry/api @opentelemetry/sdk-metrics, then TRACKPOST_WRITE_KEY=... node opentelemetry.mjs
import { metrics } from '@opentelemetry/api'
import {
  ConsoleMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { Analytics } from 'trackpost'

// Your service already has a meter provider, with its own exporter.
const provider = new MeterProvider({
  readers: [new PeriodicExportingMetricReader({ exporter: new ConsoleMetricExporter() })],
})
metrics.setGlobalMeterProvider(provider)

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

/** The values are read only when metrics are collected. */
function observe(analytics, meter) {
  const accepted = meter.createObservableCounter('trackpost.events.accepted', { unit: '{event}' })
  const settled = meter.createObservableCounter('trackpost.events.settled', { unit: '{event}' })
  const pending = meter.createObservableUpDownCounter('trackpost.events.pending', { unit: '{event}' })
  const queued = meter.createObservableUpDownCounter('trackpost.queue.events', { unit: '{event}' })
  const queuedBytes = meter.createObservableUpDownCounter('trackpost.queue.bytes', { unit: 'By' })
  const inFlight = meter.createObservableUpDownCounter('trackpost.requests.active', { unit: '{request}' })
  const pause = meter.createObservableGauge('trackpost.pause', { unit: 's' })
  const age = meter.createObservableGauge('trackpost.last_delivery.age', { unit: 's' })

  meter.addBatchObservableCallback(
    (result) => {
      const { stats, status } = analytics
      result.observe(accepted, stats.accepted)
      result.observe(settled, stats.delivered, { outcome: 'delivered' })
      for (const [outcome, count] of Object.entries(stats.failures)) {
        if (count > 0) result.observe(settled, count, { outcome })
      }
      result.observe(pending, stats.pending)
      result.observe(queued, status.queued)
      result.observe(queuedBytes, status.queuedBytes)
      result.observe(inFlight, status.inFlight)
      result.observe(pause, Math.max(0, (status.pausedUntil ?? 0) - Date.now()) / 1_000)
      if (status.lastDeliveredAt) result.observe(age, (Date.now() - status.lastDeliveredAt) / 1_000)
    },
    [accepted, settled, pending, queued, queuedBytes, inFlight, pause, age],
  )
}

observe(analytics, metrics.getMeter('trackpost', analytics.VERSION))

analytics.track({ userId: 'user-1042', event: 'Report Exported', properties: { format: 'pdf', pages: 12 } })
analytics.track({ event: 'Nobody did this' }) // invalid: it has no identity

await analytics.closeAndFlush()
await provider.shutdown() // collects and exports once more

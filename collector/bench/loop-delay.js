/** Loaded into the measured collector: reports how long its event loop was blocked, and how much of the time it was busy. */
import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { isMainThread } from 'node:worker_threads'

if (isMainThread && process.send !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  let busySince = performance.eventLoopUtilization()
  let collections = []
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collections.push(duration)
  }).observe({ entryTypes: ['gc'] })
  process.on('message', () => {
    const busy = performance.eventLoopUtilization(busySince)
    const ms = (nanoseconds) => nanoseconds / 1e6
    process.send({
      p50: ms(delay.percentile(50)),
      p99: ms(delay.percentile(99)),
      max: ms(delay.max),
      utilization: busy.utilization,
      gcMs: collections.reduce((sum, one) => sum + one, 0),
      gcMaxMs: Math.max(0, ...collections),
    })
    delay.reset()
    collections = []
    busySince = performance.eventLoopUtilization()
  })
  // Does not keep the collector alive.
  process.channel.unref()
}

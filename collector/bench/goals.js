import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCollectorProcess } from './collector-process.js'
import { percentile, sendLoad } from './load.js'
import { measure } from './measure.js'

const MILLION = 1_000_000

const goal = (what, figure, unit, limit) => ({ what, figure, unit, limit, isReached: figure <= limit })

async function load(name, options, limits) {
  const { latencies, failed, accepted, counted, times, memory, tookSeconds, delay, processorUsed } =
    await measure(options)
  const rate = Math.round(accepted / tookSeconds)
  console.log(
    `${name}: ${rate} events per second, p50 ${percentile(latencies, 0.5).toFixed(1)} ms, max ${percentile(latencies, 1).toFixed(0)} ms, ` +
      `${((processorUsed / accepted) * 1e6).toFixed(0)} CPU µs per event, event loop blocked for at most ${delay.max.toFixed(0)} ms`,
  )
  return [
    goal(`${name}: p99`, percentile(latencies, 0.99), 'ms', limits.p99),
    goal(`${name}: /api/stats, the slowest`, percentile(times.stats, 1), 'ms', 100),
    goal(`${name}: memory at most`, memory, 'MB', 300),
    goal(`${name}: failed or lost`, failed + Math.abs(accepted - counted), 'events', 0),
  ]
}

/** Makes a database of a million events. Measures how long a collector takes with it to start, to list and to filter. */
async function million(folder) {
  const database = join(folder, 'million.db')
  const writer = await startCollectorProcess({ database })
  const { failed } = await sendLoad(writer.url, {
    rate: 40_000,
    batch: 500,
    connections: 8,
    seconds: MILLION / 40_000,
  })
  await writer.stop()
  const reader = await startCollectorProcess({ database })
  const timed = async (path) => {
    const startMs = performance.now()
    await (await fetch(new URL(path, reader.url))).arrayBuffer()
    return performance.now() - startMs
  }
  const rows = await timed('/api/events?order=newest&view=summary&limit=100')
  const paths = [
    'user:user-77',
    'message:nowhere',
    'status:rejected',
    'reason:no_event',
    'event:nothing',
    'nowhere',
  ]
  const filters = []
  for (const q of paths) filters.push(await timed(`/api/events?order=newest&view=summary&q=${q}`))
  await reader.stop()
  return [
    goal('1,000,000 events: failed', failed, 'events', 0),
    goal('1,000,000 events: start', reader.startMs, 'ms', 2000),
    goal('1,000,000 events: first rows', rows, 'ms', 500),
    goal('1,000,000 events: the slowest filter', Math.max(...filters), 'ms', 200),
  ]
}

/** Returns whether all goals are reached. */
export async function runAll() {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
  const lines = []
  const [before = 0] = loadavg()
  try {
    const people = { pages: 10, search: true, stats: true }
    const batches = { rate: 20_000, batch: 100, connections: 20, seconds: 30 }
    lines.push(...(await load('20,000/s in batches of 100', { ...batches, ...people }, { p99: 60 })))
    const single = { rate: 5000, batch: 1, connections: 50, seconds: 30, stats: true }
    lines.push(...(await load('5,000/s one by one', single, { p99: 40 })))
    const many = { rate: 3000, batch: 1, connections: 1000, seconds: 30, stats: true }
    lines.push(...(await load('1,000 connections', many, { p99: 1000 })))
    lines.push(...(await million(folder)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(
    `\nThe load average before the run was ${before.toFixed(1)} on ${availableParallelism()} cores. Above 0.5, other processes affect the figures.`,
  )
  const width = Math.max(...lines.map(({ what }) => what.length))
  console.log(`${'what'.padEnd(width)}      figure        goal`)
  for (const { what, figure, unit, limit, isReached } of lines) {
    const shown = `${figure.toFixed(unit === 'ms' ? 1 : 0)} ${unit}`.padStart(14)
    console.log(
      `${what.padEnd(width)}${shown}${`${limit} ${unit}`.padStart(14)}  ${isReached ? 'reached' : 'MISSED'}`,
    )
  }
  return lines.every(({ isReached }) => isReached)
}

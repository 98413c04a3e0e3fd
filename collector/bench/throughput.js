/**
 * Sustained throughput of the collector as users run it: in a separate process, with the database in a file.
 *
 * Usage: node bench/throughput.js [--seconds 20] [--rate 20000] [--batch 100] [--connections 8] [--pages 0] [--search] [--stats]
 *          [--database path] [--profile folder]
 *        node bench/throughput.js --all
 *
 * --batch 1 is single events; --pages opens this many streams, as open pages do; --search adds a user who searches all the time,
 * --stats one who requests the statistics. --profile writes a CPU profile. --all measures everything that has a goal, in some
 * three minutes, and prints a table; nothing else should run on the machine.
 */
import { parseArgs } from 'node:util'
import { runAll } from './goals.js'
import { percentile } from './load.js'
import { measure } from './measure.js'

const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '20' },
    rate: { type: 'string', default: '20000' },
    batch: { type: 'string', default: '100' },
    connections: { type: 'string', default: '8' },
    pages: { type: 'string', default: '0' },
    search: { type: 'boolean', default: false },
    stats: { type: 'boolean', default: false },
    database: { type: 'string' },
    profile: { type: 'string' },
  },
})

if (values.all) {
  process.exitCode = (await runAll()) ? 0 : 1
} else {
  const {
    latencies,
    accepted,
    counted,
    failed,
    tookSeconds,
    processorUsed,
    times,
    delay,
    memory,
    fileMb,
    writtenMb,
  } = await measure({
    seconds: Number(values.seconds),
    rate: Number(values.rate),
    batch: Number(values.batch),
    connections: Number(values.connections),
    pages: Number(values.pages),
    search: values.search,
    stats: values.stats,
    database: values.database,
    profile: values.profile,
  })
  const at = (p, list = latencies) => `${percentile(list, p).toFixed(1)} ms`
  console.log(
    `accepted   ${accepted} events in ${tookSeconds.toFixed(1)} s = ${Math.round(accepted / tookSeconds)} per second, ${failed} failed`,
  )
  console.log(`latency    p50 ${at(0.5)}, p99 ${at(0.99)}, p99.9 ${at(0.999)}, max ${at(1)}`)
  console.log(
    `CPU        ${processorUsed.toFixed(1)} s used by the collector, ${((processorUsed / accepted) * 1e6).toFixed(0)} µs per event`,
  )
  console.log(
    `event loop blocked p50 ${delay.p50.toFixed(1)} ms, p99 ${delay.p99.toFixed(1)} ms, max ${delay.max.toFixed(1)} ms; busy ${(delay.utilization * 100).toFixed(0)} %; ` +
      `garbage collection ${delay.gcMs.toFixed(0)} ms, longest ${delay.gcMaxMs.toFixed(1)} ms`,
  )
  for (const [what, list] of Object.entries(times)) {
    if (list.length > 0)
      console.log(`${what.padEnd(10)} ${list.length}, p50 ${at(0.5, list)}, max ${at(1, list)}`)
  }
  console.log(`memory     at most ${memory.toFixed(0)} MB`)
  console.log(`database   ${fileMb.toFixed(0)} MB, ${writtenMb.toFixed(0)} MB written`)
  if (counted !== accepted) {
    console.error(`the collector counts ${counted} events, expected ${accepted}`)
    process.exitCode = 1
  }
}

/**
 * A check for CI against regressions: short runs of burst, trackpost and the floor, without other clients.
 * Exits with 1 when the CPU time per event is more than 1.5 times that of the floor, when a run fails, or when
 * an event is lost or arrives twice; with 2 when there is no build.
 *
 * Compares the CPU time of two processes that ran one after the other, so that a busy machine slows both, and
 * takes the median of all such pairs. A median beyond the limit is checked again, with up to three times
 * as many pairs.
 */
import { existsSync } from 'node:fs'
import { ratio } from './report.mjs'
import { median, runOnce, startSink } from './runner.mjs'
import { scenarios } from './scenarios.mjs'

const LIMIT = 1.5
const PAIRS = 5
const MAX_PAIRS = 15

if (!existsSync(new URL('../dist/index.js', import.meta.url))) {
  console.error('dist/index.js does not exist: build first')
  process.exit(2)
}

const { run } = scenarios.find(({ name }) => name === 'burst')
const results = { floor: [], trackpost: [] }
const measured = () => ratio(results.trackpost, results.floor, 'cpuMicros')
const hasFailed = (result) => Boolean(result.failed) || result.lost > 0 || result.twice > 0
const sink = await startSink()
let isLossless = true
for (let pair = 0; pair < MAX_PAIRS && isLossless; pair++) {
  if (pair >= PAIRS && pair % PAIRS === 0 && measured() <= LIMIT) break
  for (const adapter of pair % 2 === 0 ? ['floor', 'trackpost'] : ['trackpost', 'floor']) {
    const result = await runOnce(sink, { ...run, adapter }, { timeoutMs: 120_000 })
    results[adapter].push(result)
    if (hasFailed(result)) {
      isLossless = false
      console.error(`${adapter}: ${result.failed ?? `${result.lost} events lost, ${result.twice} twice`}`)
    }
  }
}
sink.stop()

for (const [adapter, runs] of Object.entries(results)) {
  console.log(`${adapter}: ${median(runs.map(({ cpuMicros }) => cpuMicros))?.toFixed(1)} µs CPU per event`)
}
const value = measured()
const isGood = isLossless && value <= LIMIT
const verdict = `${results.trackpost.length} pairs, at most ${LIMIT}: ${isGood ? 'pass' : 'fail'}`
console.log(`trackpost / floor: ${value?.toFixed(2)} (${verdict})`)
process.exit(isGood ? 0 : 1)

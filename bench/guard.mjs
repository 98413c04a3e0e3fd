/**
 * A check against regressions, for CI: runs the `burst` scenario with trackpost and with the floor (a minimal client,
 * floor.mjs). Exits with 1 if trackpost needs more than 1.5 times the floor's CPU time per event, if a run fails, or if an
 * event is lost or arrives twice. Exits with 2 if there is no build.
 *
 * The two processes of a pair run one after the other, so that a busy machine slows both. The median of the ratios of all pairs
 * counts. If it is above the limit after 5 pairs, 5 more pairs are run, up to 15.
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

/**
 * A regression guard for CI: one short run of burst, trackpost beside the floor, without any other client.
 * Exits with 1 when the CPU per event is more than 2.5 times the floor's or an event was lost, with 2 when
 * there is no build. The bound is wide: shared runners are noisy, and the real target is in scenarios.mjs.
 */
import { existsSync } from 'node:fs'
import { ratio } from './report.mjs'
import { median, runOnce, startSink } from './runner.mjs'
import { scenarios } from './scenarios.mjs'

const LIMIT = 2.5
const ROUNDS = 5

if (!existsSync(new URL('../dist/index.js', import.meta.url))) {
  console.error('dist/index.js is not there: build first')
  process.exit(2)
}

const { run } = scenarios.find(({ name }) => name === 'burst')
const results = { floor: [], trackpost: [] }
const sink = await startSink()
for (let round = 0; round < ROUNDS; round++) {
  for (const adapter of round % 2 === 0 ? ['floor', 'trackpost'] : ['trackpost', 'floor']) {
    results[adapter].push(await runOnce(sink, { ...run, adapter }, { timeoutMs: 15_000 }))
  }
}
sink.stop()

let isGood = true
for (const [adapter, runs] of Object.entries(results)) {
  const failed = runs.find((result) => result.failed || result.lost > 0 || result.twice > 0)
  if (failed) {
    isGood = false
    console.error(`${adapter}: ${failed.failed ?? `${failed.lost} events lost, ${failed.twice} twice`}`)
  }
  console.log(`${adapter}: ${median(runs.map(({ cpuMicros }) => cpuMicros))?.toFixed(1)} µs CPU per event`)
}
const measured = ratio(results.trackpost, results.floor, 'cpuMicros')
isGood &&= measured <= LIMIT
console.log(`trackpost / floor: ${measured?.toFixed(2)} (at most ${LIMIT}): ${isGood ? 'pass' : 'fail'}`)
process.exit(isGood ? 0 : 1)

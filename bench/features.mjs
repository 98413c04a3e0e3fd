/**
 * Measures the CPU cost of features of the SDK, in the `burst` scenario: `node bench/features.mjs [feature...]`.
 *
 * Each feature is compared with the same burst without the feature. The two runs of a pair follow each other, in separate
 * processes. The result is the median of the ratios of all pairs. Two CPU times are compared: that of all threads, and that of
 * the main thread, because its work delays the requests of a server. Only Node.js 23.9 and later report the second, so use
 * `.cache/runtimes/node-24-.../bin/node bench/features.mjs`.
 *
 * `--before path/to/index.js` compares an older build with this one, without features. `--pairs 15` runs 15 pairs, not 11.
 */
import { existsSync } from 'node:fs'
import { ratio } from './report.mjs'
import { median, runOnce, startSink } from './runner.mjs'
import { scenarios } from './scenarios.mjs'

/** `metric` is the compared time, and `limit` the highest acceptable ratio. `bytesLimit` is the same for the bytes sent. */
const FEATURES = {
  gzip: { text: "compress: 'gzip'", metric: 'mainMicros', limit: 1.15, bytesLimit: 0.2 },
  channels: { text: 'all five diagnostics channels subscribed', metric: 'cpuMicros', limit: 1.15 },
  with: { text: 'every call on analytics.with(...)', metric: 'cpuMicros', limit: 1.1 },
  before: { text: 'this build compared with the older one', metric: 'cpuMicros', limit: 1.02 },
}

const args = process.argv.slice(2)
const option = (name) => {
  const at = args.indexOf(name)
  return at < 0 ? undefined : args.splice(at, 2)[1]
}
const pairs = Number(option('--pairs') ?? 11)
const before = option('--before')
const unknown = args.filter((name) => !(name in FEATURES))
const names = args.length > 0 ? args : Object.keys(FEATURES).filter((name) => name !== 'before' || before)
if (unknown.length > 0 || (names.includes('before') && !before) || !(pairs >= 1)) {
  console.error(
    `usage: node bench/features.mjs [${Object.keys(FEATURES).join('|')}...] [--before FILE] [--pairs N]`,
  )
  process.exit(2)
}
for (const build of [new URL('../dist/index.js', import.meta.url), ...(before ? [before] : [])]) {
  if (existsSync(build)) continue
  console.error(`${build} does not exist: build first`)
  process.exit(2)
}

const { run: burst } = scenarios.find(({ name }) => name === 'burst')
const plain = { ...burst, adapter: 'trackpost' }
const environment = before ? { BENCH_OTHER_BUILD: new URL(before, `file://${process.cwd()}/`).href } : {}
const sink = await startSink()
let isGood = true

for (const name of names) {
  const { text, metric, limit, bytesLimit } = FEATURES[name]
  const sides =
    name === 'before'
      ? { with: plain, without: { ...burst, adapter: 'trackpost-other' } }
      : { with: { ...plain, feature: name }, without: plain }
  const results = { with: [], without: [] }
  for (let pair = 0; pair < pairs; pair++) {
    for (const side of pair % 2 === 0 ? ['with', 'without'] : ['without', 'with']) {
      const result = await runOnce(sink, sides[side], { environment, timeoutMs: 120_000 })
      if (result.failed || result.lost > 0 || result.twice > 0) {
        console.error(`${name}: ${result.failed ?? `${result.lost} events lost, ${result.twice} twice`}`)
        process.exit(1)
      }
      results[side].push({ ...result, sentBytes: result.sink.sentBytes })
    }
  }
  report(`${text}: CPU of all threads`, results, 'cpuMicros', 'µs an event', metric === 'cpuMicros' && limit)
  if (results.with[0].mainMicros !== undefined) {
    report(
      `${text}: CPU of the main thread`,
      results,
      'mainMicros',
      'µs an event',
      metric === 'mainMicros' && limit,
    )
  } else if (metric === 'mainMicros') {
    console.log(`${text}: this version of Node.js does not report the CPU time of the main thread`)
    isGood = false
  }
  if (bytesLimit) report(`${text}: bytes sent`, results, 'sentBytes', 'bytes', bytesLimit)
}
sink.stop()
process.exit(isGood ? 0 : 1)

function report(text, results, metric, unit, limit) {
  const value = ratio(results.with, results.without, metric)
  const at = (side) => median(results[side].map((result) => result[metric])).toFixed(1)
  const isMet = !limit || value <= limit
  isGood &&= isMet
  const verdict = limit ? `, at most ${limit}: ${isMet ? 'met' : 'missed'}` : ''
  console.log(`${text}: ${at('with')} and ${at('without')} ${unit}, ${value.toFixed(3)} x${verdict}`)
}

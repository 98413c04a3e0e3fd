/**
 * Shows where one run spends its time: `node bench/profile.mjs <scenario> <row> [top] [--keep folder]`. `row` is a name in the
 * first column of the scenario's table in results.md. Prints the time of each part of the process, and the `top` functions with
 * the most self time, including garbage collection and idle time. `--keep` keeps the profile.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runOnce, startSink } from './runner.mjs'
import { scenarios } from './scenarios.mjs'

const [name, label, top = '25', flag, folder] = process.argv.slice(2)
const scenario = scenarios.find((candidate) => candidate.name === name && candidate.run)
const row = scenario?.rows.find((candidate) => candidate.label === label)
if (!row) {
  console.error('usage: node bench/profile.mjs <scenario> <row> [top] [--keep folder]')
  process.exit(2)
}

const profiles = flag === '--keep' ? folder : mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
const sink = await startSink()
const result = await runOnce(
  sink,
  { ...scenario.run, ...row.run, adapter: row.adapter },
  { execArgv: ['--cpu-prof', '--cpu-prof-interval', '200', `--cpu-prof-dir=${profiles}`] },
)
sink.stop()
if (result.failed) {
  console.error(result.failed)
  process.exit(1)
}

const file = readdirSync(profiles)
  .filter((entry) => entry.endsWith('.cpuprofile'))
  .sort()
  .at(-1)
const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(profiles, file), 'utf8'))
if (flag !== '--keep') rmSync(profiles, { recursive: true })

const places = new Map(
  nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => [
    id,
    `${functionName || '(anonymous)'}  ${shortUrl(url)}${url ? `:${lineNumber + 1}` : ''}`,
  ]),
)
const parts = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame)]))
const selfMicros = new Map()
const partMicros = new Map()
let totalMicros = 0
samples.forEach((id, index) => {
  const place = places.get(id)
  selfMicros.set(place, (selfMicros.get(place) ?? 0) + timeDeltas[index])
  if (place.startsWith('(idle)')) return
  totalMicros += timeDeltas[index]
  const part = parts.get(id)
  partMicros.set(part, (partMicros.get(part) ?? 0) + timeDeltas[index])
})

console.log(
  `${name}, ${label}: self time of the whole process, ${(totalMicros / 1000).toFixed(0)} ms without idle`,
)
for (const [part, micros] of [...partMicros].sort((a, b) => b[1] - a[1])) {
  console.log(
    `${(micros / 1000).toFixed(1).padStart(9)} ms ${((100 * micros) / totalMicros).toFixed(1).padStart(5)} %  ${part}`,
  )
}
console.log('')
for (const [place, micros] of [...selfMicros].sort((a, b) => b[1] - a[1]).slice(0, Number(top))) {
  const share = place.startsWith('(idle)') ? '' : `${((100 * micros) / totalMicros).toFixed(1)} %`
  console.log(`${(micros / 1000).toFixed(1).padStart(9)} ms ${share.padStart(7)}  ${place}`)
}

/** Native functions that are not listed here count as Node.js. */
function partOf({ functionName, url }) {
  if (functionName === '(garbage collector)' || functionName === '(program)') return functionName
  if (/^(?:writev?|writeUtf8String)$/.test(functionName) && url === '') return 'writing to the socket'
  if (/\/bench\//.test(url)) return 'the benchmark, including its minimal client (floor)'
  if (url.startsWith('file:')) return 'the client'
  if (/^node:internal\/(?:timers|async_hooks|process\/promises)|^node:(?:timers|async_hooks)/.test(url))
    return 'timers and contexts of Node.js'
  return 'the rest of Node.js: HTTP, streams, loading'
}

function shortUrl(url) {
  return url.replace(/^.*\/(node_modules|main|dist|bench)\//, '$1/').replace(/^file:.*\//, '')
}

/**
 * Runs the benchmark: all clients in all scenarios, in several rounds. README.md explains the results.
 *
 * node bench/run.mjs [--quick] [--only burst,trackpost,floor] [--other path/to/index.js] [--profiles folder] [--write]
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { adapterNames, loadAdapter } from './adapters/index.mjs'
import { scenarioTable, table, targetRows } from './report.mjs'
import { runOnce, startSink } from './runner.mjs'
import { scenarios } from './scenarios.mjs'

const PEERS = ['@rudderstack/rudder-sdk-node', '@segment/analytics-node', 'posthog-node']
const here = (name) => fileURLToPath(new URL(name, import.meta.url))

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    other: { type: 'string' },
    profiles: { type: 'string' },
    write: { type: 'boolean' },
  },
})

const only = options.only?.split(',') ?? []
const unknown = only.filter(
  (name) => !adapterNames.includes(name) && !scenarios.some((one) => one.name === name),
)
if (unknown.length > 0) {
  console.error(
    `there is no ${unknown.join(', ')}; scenarios: ${scenarios.map(({ name }) => name).join(', ')}; adapters: ${adapterNames.join(', ')}`,
  )
  process.exit(2)
}
const chosenScenarios = scenarios.filter(({ name }) => only.includes(name))
const chosenAdapters = adapterNames.filter((name) => only.includes(name))
// `none` is always run: its cost is subtracted from both sides of a ratio.
const isChosen = (adapter) =>
  chosenAdapters.length === 0 || adapter === 'none' || chosenAdapters.includes(adapter)

const environment = options.other ? { BENCH_OTHER_BUILD: pathToFileURL(resolve(options.other)).href } : {}
const isBuilt = existsSync(here('../dist/index.js'))
if (!isBuilt)
  console.error('dist/index.js does not exist: trackpost is left out. Build it with `npm run build`.\n')

const startMs = Date.now()
const [loadAtStart] = loadavg()
const sink = await startSink()
const sections = []
const verdicts = []
try {
  for (const scenario of chosenScenarios.length > 0 ? chosenScenarios : scenarios) {
    const shown = { ...scenario, rows: await rowsOf(scenario) }
    if (shown.rows.length === 0) continue
    const results = await measureScenario(shown)
    const section = scenarioTable(shown, results)
    const targets = targetRows(shown, results)
    console.log(section)
    for (const target of targets) console.log(`  ${target.slice(1).join(' | ')}`)
    if (targets.length > 0) console.log('')
    sections.push(section)
    verdicts.push(...targets)
  }
} finally {
  sink.stop()
}

const verdictTable = table(['scenario', 'what', 'target', 'measured', ''], verdicts)
console.log(['## Targets', '', ...verdictTable, ''].join('\n'))
const missed = verdicts.filter((verdict) => verdict.at(-1) === 'missed')
const met = verdicts.filter((verdict) => verdict.at(-1) === 'met')
console.log(
  `${Math.round((Date.now() - startMs) / 1000)} s; targets: ${met.length} met, ${missed.length} missed`,
)
if (missed.length > 0) process.exitCode = 1

const isComplete = !options.quick && only.length === 0 && isBuilt
if (options.write ?? isComplete) {
  writeFileSync(here('results.md'), document())
  console.log('written to bench/results.md')
}

/** The rows that can be run here and were requested. With `--other`, rows of the other build are added. */
async function rowsOf(scenario) {
  const available = scenario.rows
    .flatMap((row) =>
      options.other && row.adapter === 'trackpost'
        ? [row, { ...row, adapter: 'trackpost-other', label: row.label.replace('trackpost', 'other build') }]
        : [row],
    )
    .filter(({ adapter }) => isChosen(adapter) && (isBuilt || !adapter.startsWith('trackpost')))
  return Promise.all(
    available.map(async (row) => {
      const adapter = await loadAdapter(row.adapter)
      return { ...row, adapterNote: scenario.notes && adapter[scenario.notes] }
    }),
  )
}

/** Returns, by the label of the row, a list with one result for each round. */
async function measureScenario({ name, kind, run, rows, rounds, slowRounds }) {
  const results = new Map(rows.map(({ label }) => [label, []]))
  const last = options.quick ? Math.min(2, rounds) : rounds
  for (let round = 0; round < last; round++) {
    const taking = rows.filter(({ isSlow }) => !isSlow || round < (options.quick ? 1 : slowRounds))
    // Each round begins with another row, so that the clients share the effects of a machine that becomes slower or faster.
    const turned = taking.map((_, index) => taking[(index + round) % taking.length])
    for (const row of turned) {
      progress(`${name} ${round + 1}/${last} ${row.label}`)
      results.get(row.label)[round] = await measureRow(kind, run, row)
    }
  }
  progress('')
  return results
}

/** Overwrites the text of the previous call. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

async function measureRow(kind, run, row) {
  const execArgv = [
    ...(kind === 'waiting' ? ['--expose-gc'] : []),
    ...(options.profiles ? ['--cpu-prof', `--cpu-prof-dir=${resolve(options.profiles)}`] : []),
  ]
  const script = kind === 'cold' ? 'cold.mjs' : 'child.mjs'
  return runOnce(sink, { ...run, ...row.run, adapter: row.adapter }, { execArgv, environment, script })
}

function document() {
  const { length: cores, 0: cpu } = cpus()
  const packages = ['', ...PEERS.map((name) => `node_modules/${name}/`)].map((folder) =>
    JSON.parse(readFileSync(here(`../${folder}package.json`), 'utf8')),
  )
  return [
    '# Results',
    '',
    'Written by `npm run bench`; README.md explains it. Ratios compare runs of the same round.',
    '',
    `- Date: ${new Date().toISOString().slice(0, 10)}`,
    `- Machine: ${cpu.model.trim()}, ${cores} cores, ${Math.round(totalmem() / 1024 ** 3)} GB, ${process.platform} ${process.arch}`,
    `- Load of the machine: ${loadAtStart.toFixed(1)} at the start, ${loadavg()[0].toFixed(1)} at the end (on a quiet machine, below 2)`,
    `- Node.js: ${process.versions.node}`,
    `- Packages: ${packages.map(({ name, version }) => `${name} ${version}`).join(', ')}`,
    ...(options.quick ? ['- A quick run: fewer rounds than usual'] : []),
    '',
    '## Targets',
    '',
    ...verdictTable,
    '',
    ...sections,
  ].join('\n')
}

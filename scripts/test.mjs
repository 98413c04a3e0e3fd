// Runs all steps of `npm test`, even if one fails, and adds up their results. Usage:
//   node scripts/test.mjs                   the default form (tiers.mjs)
//   node scripts/test.mjs --full            everything
//   node scripts/test.mjs --rest            the tests that the default form leaves out, except *.night.test.ts and `inNight`
//   node scripts/test.mjs step... [--full]  whole steps by name; with --full in the sizes of test/faults/README.md
// Other arguments are passed to the test runner of a step. Parallel steps run three at a time, since they often wait for
// processes, servers and browsers. A parallel step prints its output when it has ended. The packages are built, packed and
// installed once. `IS_BUILT=1` tells the setup of a suite not to build them again. The caller of this script sets it if both
// packages are already built. The last line is 'N passed, N failed, N skipped'. The exit code is 1 if anything failed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const RESULTS = `${ROOT}test-results`
/** The project in which the packed package is installed, for all suites of a run. */
const PACKED = `${ROOT}.cache/packed-${process.pid}`

const VITEST = 'node_modules/vitest/vitest.mjs'
const vitest = (...projects) => ['node', VITEST, 'run', ...projects.map((name) => `--project=${name}`)]

const given = process.argv.slice(2)
const firstFlag = given.findIndex((argument) => argument.startsWith('-'))
const names = firstFlag < 0 ? given : given.slice(0, firstFlag)
const flags = firstFlag < 0 ? [] : given.slice(firstFlag)
const isWhole = names.length === 0
const isFull = flags.includes('--full')
const passedOn = flags.filter((flag) => !['--', '--full', '--rest'].includes(flag))
/** Steps that are requested by name run all their tests, as in the full form. */
const tier = isFull || !isWhole ? 'full' : flags.includes('--rest') ? 'rest' : 'default'

/** The default form needs no declarations, which take ten times as long as the code. */
const build = (...workspace) => {
  const flags = tier === 'default' ? ['--no-dts'] : []
  return {
    command: ['npm', 'run', '--silent', 'build', ...workspace, '--', '--silent', ...flags],
    isParallel: true,
    inRest: true,
  }
}

/**
 * A step with `reports` is counted by its tests, any other step counts as one. Parallel steps build nothing that other steps
 * read. The longest steps come first, so that the last steps end at about the same time.
 * - Without a mark: only in the default form and with `--full`.
 * - `inRest`: also with `--rest`, for the part that the default form leaves out.
 * - `inFull`: with `--full` and with `--rest`, but not in the default form.
 * - `inFull` and `inNight`: only with `--full`.
 */
const STEPS = {
  lint: { command: ['npm', 'run', '--silent', 'lint'] },
  build: build(),
  'build:collector': build('--workspace', 'collector'),
  'build:cluster': build('--workspace', 'cluster'),
  pack: { command: ['node', 'scripts/install-packed.mjs', PACKED], inRest: true },
  browser: {
    command: ['sh', 'collector/scripts/ensure-chromium.sh'],
    mayFail: 'the tests in a browser',
    inFull: true,
  },
  postgres: {
    command: ['sh', 'cluster/scripts/ensure-postgres.sh'],
    mayFail: 'the tests on PostgreSQL',
    inFull: true,
  },
  nats: {
    command: ['sh', 'cluster/scripts/ensure-nats.sh'],
    mayFail: 'the tests with the log',
    inFull: true,
  },
  promtool: {
    command: ['sh', 'cluster/scripts/ensure-promtool.sh'],
    mayFail: 'the tests of alert rules',
    inFull: true,
  },
  clickhouse: {
    command: ['node', 'scripts/fetch-packages.mjs', 'cluster/test/clickhouse'],
    mayFail: 'the tests on ClickHouse',
    inFull: true,
  },
  cli: {
    command: ['npm', 'test', '--workspace', 'cli', '--'],
    reports: true,
    isParallel: true,
    inRest: true,
  },
  collector: {
    command: ['npm', 'test', '--workspace', 'collector', '--'],
    reports: true,
    isParallel: true,
    inRest: true,
  },
  cluster: {
    command: ['npm', 'test', '--workspace', 'cluster', '--'],
    reports: true,
    isParallel: true,
    inRest: true,
  },
  site: { command: vitest('site'), reports: true, isParallel: true, inFull: true, inNight: true },
  package: { command: vitest('package'), reports: true, isParallel: true, inRest: true },
  runtimes: {
    command: vitest('runtimes', 'serverless'),
    reports: true,
    isParallel: true,
    inFull: true,
    inNight: true,
  },
  unit: { command: vitest('unit*'), reports: true, isParallel: true, inRest: true },
  faults: { command: ['node', 'test/faults/run.mjs'], reports: true, isParallel: true, inRest: true },
  examples: { command: vitest('examples'), reports: true, isParallel: true, inRest: true },
  frameworks: { command: vitest('frameworks'), reports: true, isParallel: true, inFull: true, inNight: true },
  'end-to-end': { command: vitest('end-to-end'), reports: true, isParallel: true },
  spool: { command: vitest('spool/proof'), reports: true, isParallel: true, inRest: true },
  types: { command: ['npm', 'run', '--silent', 'types'], isParallel: true },
  size: { command: ['npm', 'run', '--silent', 'size'] },
  layers: { command: ['npm', 'run', '--silent', 'layers'], inFull: true },
  unused: { command: ['npm', 'run', '--silent', 'unused'], inFull: true },
  'bench:guard': { command: ['node', 'bench/guard.mjs'], inFull: true },
  // Not part of `npm test`. The continuous integration runs this command, because the README names it.
  demo: { command: ['npm', 'run', 'demo'], isExtra: true },
}

/** Run before a step that is requested by name. */
const NEEDS = {
  size: ['build'],
  package: ['build', 'pack'],
  examples: ['build', 'build:collector'],
  frameworks: ['build', 'pack'],
  faults: ['build'],
  spool: ['build'],
  runtimes: ['build', 'pack'],
  site: ['build', 'browser'],
  collector: ['build', 'build:collector', 'browser'],
  cluster: [
    ...['build', 'build:collector', 'build:cluster'],
    ...['browser', 'postgres', 'nats', 'promtool', 'clickhouse'],
  ],
  cli: ['build', 'build:collector'],
  'bench:guard': ['build'],
}

const unknown = names.filter((name) => STEPS[name] === undefined)
if (unknown.length > 0) {
  console.error(`no such step: ${unknown.join(', ')}; there are ${Object.keys(STEPS).join(', ')}`)
  process.exit(2)
}
const wanted = new Set(names.flatMap((name) => [...(NEEDS[name] ?? []), name]))
const isBuilt = process.env.IS_BUILT === '1'
const chosen = Object.keys(STEPS)
  .filter((name) => (isWhole ? isOfTier(STEPS[name]) : wanted.has(name)))
  .filter((name) => !isBuilt || !['build', 'build:collector', 'build:cluster'].includes(name))

mkdirSync(RESULTS, { recursive: true })
const total = { passed: 0, failed: 0, skipped: 0 }
const failures = []
const skipped = []
const lines = new Map()
for (const phase of phases(chosen)) {
  const waiting = [...phase]
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      await runStep(name, phase.length > 1)
    }
  }
  await Promise.all([work(), work(), work()])
}
console.log(`\n${chosen.map((name) => lines.get(name)).join('\n')}\n`)
if (tier === 'default') {
  const left = Object.keys(STEPS).filter((name) => STEPS[name].inFull)
  console.log(
    `Left to \`npm test -- --full\`: files *.full.test.ts and *.night.test.ts, and ${left.join(', ')}\n`,
  )
}
rmSync(PACKED, { recursive: true, force: true })
writeFileSync(
  `${RESULTS}/summary-${[tier, ...names].join('-').replaceAll(':', '-')}.json`,
  JSON.stringify({ ...total, failures }),
)
// The default form skips the tests on services, which the others run.
const mayNotSkip = process.env.FORBID_SKIPS === '1' && tier !== 'default'
if (mayNotSkip) for (const name of skipped) console.error(`skipped, although FORBID_SKIPS is set: ${name}`)
for (const failure of failures) console.log(failure)
console.log(summaryOf(total))
process.exitCode = total.failed > 0 || (mayNotSkip && total.skipped > 0) ? 1 : 0

function isOfTier({ isExtra, inFull = false, inRest = false, inNight = false }) {
  if (isExtra) return false
  if (tier === 'default') return !inFull
  return tier === 'full' || (!inNight && (inFull || inRest))
}

/** Groups run one after the other. A group is a single step, or neighbouring steps that run in parallel. */
function phases(steps) {
  const found = []
  let latest
  for (const name of steps) {
    if (latest !== undefined && STEPS[name].isParallel) latest.push(name)
    else found.push([name])
    latest = STEPS[name].isParallel ? found.at(-1) : undefined
  }
  return found
}

async function runStep(name, isBesideAnother) {
  console.log(`\n> ${name}${isBesideAnother ? ' (begins)' : ''}`)
  const startMs = performance.now()
  const { status, output } = await runCommand(name, isBesideAnother)
  if (isBesideAnother) console.log(`\n> ${name}\n${output}`)
  const result = resultOf(name, status)
  failures.push(...result.failures)
  skipped.push(...result.left)
  for (const key of Object.keys(total)) total[key] += result[key]
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0)
  lines.set(name, `${name.padEnd(12)} ${summaryOf(result)} in ${seconds} s${result.note ?? ''}`)
}

async function runCommand(name, isCaptured) {
  const { command, reports = false } = STEPS[name]
  rmSync(reportOf(name), { force: true })
  const reporters = reports
    ? ['--reporter=default', '--reporter=json', `--outputFile.json=${reportOf(name)}`]
    : []
  const further = reports && (names.includes(name) || isWhole) ? passedOn : []
  const [program, ...args] = [...command, ...reporters, ...further]
  const env = {
    ...process.env,
    TEST_TIER: tier,
    // Not when all steps run: in its full size, the fault suite takes an hour.
    TEST_FULL: isFull && !isWhole ? '1' : '0',
    IS_BUILT: reports ? '1' : '0',
    ...(chosen.includes('pack') && { PACKED }),
  }
  const stdio = isCaptured ? ['ignore', 'pipe', 'pipe'] : 'inherit'
  const child = spawn(program, args, { cwd: ROOT, stdio, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text) => {
      output += text
    })
  }
  try {
    const [status] = await once(child, 'close')
    return { status, output }
  } catch (error) {
    return { status: 1, output: `${output}${error.message}` }
  }
}

/** The counts of a step, a text for each failure (the step, the test and what it said), and the names of the skipped tests. */
function resultOf(name, status) {
  const { reports = false, mayFail } = STEPS[name]
  const failed = status === 0 ? 0 : 1
  if (mayFail !== undefined) {
    const note = failed ? ` (not available: ${mayFail} may be skipped)` : ''
    return { passed: 0, failed: 0, skipped: 0, failures: [], left: [], note }
  }
  if (!reports || !existsSync(reportOf(name))) {
    return { passed: 1 - failed, failed, skipped: 0, failures: failed ? [`failed: ${name}`] : [], left: [] }
  }
  const { testResults } = JSON.parse(readFileSync(reportOf(name), 'utf8'))
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
  const passed = tests.filter((test) => test.status === 'passed')
  const left = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed')
  const failures = testResults
    .filter((file) => file.status === 'failed')
    .flatMap(({ name: path, message, assertionResults }) => {
      const tests = assertionResults.filter((test) => test.status === 'failed')
      const file = `failed: ${name}: ${path.replace(ROOT, '')}`
      // A file that could not be loaded has no failed tests, but counts as a failure.
      if (tests.length === 0) return `${file}: ${message}`
      return tests.map(
        ({ fullName, failureMessages: [text = ''] }) => `${file}: ${fullName}: ${shortened(text)}`,
      )
    })
  // A failure outside of tests, such as an uncaught error, also counts.
  if (failed && failures.length === 0) failures.push(`failed: ${name}`)
  return {
    passed: passed.length,
    failed: failures.length,
    skipped: left.length,
    failures,
    left: left.map(({ fullName }) => fullName),
  }
}

/** The message and the line of the test, without the lines of the test runner. */
function shortened(text) {
  return text.split('\n    at ').slice(0, 2).join('\n    at ').slice(0, 1_000)
}

function reportOf(name) {
  return `${RESULTS}/${name}.json`
}

function summaryOf({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`
}

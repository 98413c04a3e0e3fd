// Mutation testing of the code that decides the outcome of events: `npm run test:mutation`. A random sample of small changes
// (mutants) is made to the sources, one at a time. The unit tests that run the changed code must then fail. Usage:
//   node scripts/mutation/run.mjs [--sample 300] [--seed 1] [--only src/delivery/gate.ts] [--tests test/delivery]
// Stryker cannot take a sample: it changes whole files or given lines, and all changes of these folders would take days.
// Prints the changes that no test noticed. Fails if the tests noticed less than the share that CONTRIBUTING.md requires.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { findMutants } from './mutants.mjs'

const ROOT = resolve(fileURLToPath(new URL('../..', import.meta.url)))
const FOLDERS = ['src/core', 'src/line', 'src/delivery', 'src/client', 'src/policy', 'src/message']
const MIN_SCORE = 0.88
/**
 * Tests hang if they take longer than `HANG_FACTOR` times their time without the change, plus `HANG_MS`. A change that makes
 * tests hang counts as noticed.
 */
const HANG_MS = 30_000
const HANG_FACTOR = 8
/** The interleavings try ten thousand orders of events, which takes too long for each change. */
const LEFT_OUT = /interleavings/

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true },
    tests: { type: 'string', multiple: true },
  },
})

const files = (folder, end) =>
  readdirSync(join(ROOT, folder), { recursive: true })
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name))
/** Leaves out tests of the built package, which would not notice any change. */
const isOfModule = (file) =>
  existsSync(join(ROOT, 'src', file.split('/')[1].replace('.test.ts', '.ts'))) &&
  !/\/proof\/|end-to-end/.test(file)
const isAsked = (file) => values.tests?.some((folder) => file.startsWith(folder)) ?? true
const testFiles = files('test', '.test.ts').filter(
  (file) => isOfModule(file) && !LEFT_OUT.test(file) && isAsked(file),
)

const all = FOLDERS.flatMap((folder) => files(folder, '.ts'))
  .filter((file) => values.only?.includes(file) ?? true)
  .flatMap((file) => {
    const found = findMutants(file, readFileSync(join(ROOT, file), 'utf8'))
    return found.map((mutant, index) => ({ ...mutant, file, index }))
  })
if (all.length === 0 || testFiles.length === 0) {
  console.error(`nothing to do: ${all.length} possible changes, ${testFiles.length} test files`)
  process.exit(1)
}
const sample = shuffle(all, Number(values.seed)).slice(0, Number(values.sample))
const numbers = {}
for (const [at, mutant] of sample.entries()) {
  mutant.number = at + 1
  numbers[mutant.file] ??= []
  numbers[mutant.file][mutant.index] = mutant.number
}

mkdirSync(join(ROOT, '.cache'), { recursive: true })
const folder = mkdtempSync(join(ROOT, '.cache/mutation-'))
writeFileSync(join(folder, 'numbers.json'), JSON.stringify(numbers))
writeFileSync(join(folder, 'active'), '0')
let worker
try {
  process.exitCode = (await main()) ? 0 : 1
} finally {
  worker?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

async function main() {
  console.log(
    `${sample.length} of ${all.length} changes, seed ${values.seed}; ${testFiles.length} test files`,
  )
  const { failed, messages, tookMs } = await ask(0, testFiles, Number.POSITIVE_INFINITY)
  if (failed.length > 0) {
    console.error(`the tests fail without any change: ${failed.join(', ')}\n${messages.join('\n')}`)
    return false
  }
  const reachedBy = readReached()
  const limitOf = (tests) => HANG_MS + HANG_FACTOR * tests.reduce((sum, test) => sum + (tookMs[test] ?? 0), 0)
  const survivors = []
  let [killed, hung] = [0, 0]
  for (const mutant of sample) {
    const verdict = await judge(mutant, reachedBy.get(mutant.number) ?? [], limitOf)
    if (verdict === 'hung') hung++
    if (verdict === 'killed' || verdict === 'hung') killed++
    else survivors.push({ ...mutant, verdict })
    const { number, file, line, kind } = mutant
    const change = `${kind}: ${mutant.from.replaceAll(/\s+/g, ' ').slice(0, 60)}`
    console.log(`${String(number).padStart(4)} ${verdict.padEnd(9)} ${file}:${line} ${change}`)
  }
  console.log(`\nnot noticed:`)
  for (const { file, line, kind, from, verdict } of survivors) {
    console.log(`- ${file}:${line} (${verdict}) ${kind}: \`${from.replaceAll(/\s+/g, ' ').slice(0, 80)}\``)
  }
  const score = killed / sample.length
  console.log(
    `\n${killed} of ${sample.length} noticed (${hung} hung): ${(score * 100).toFixed(1)} % (at least ${MIN_SCORE * 100} %)`,
  )
  return score >= MIN_SCORE
}

/** Runs the tests of the changed file first, then those of its folder, because they notice most changes. */
async function judge({ number, file }, reached, limitOf) {
  if (reached.length === 0) return 'unreached'
  const isNear = (test) => basename(test, '.test.ts') === basename(file, '.ts')
  const isOfItsFolder = (test) => test.split('/')[1] === file.split('/')[1]
  const groups = [
    reached.filter(isNear),
    reached.filter((test) => isOfItsFolder(test) && !isNear(test)),
    reached.filter((test) => !isOfItsFolder(test) && !isNear(test)),
  ]
  for (const group of groups.filter(({ length }) => length > 0)) {
    const { failed, errors, isHung } = await ask(number, group, limitOf(group))
    if (isHung) return 'hung'
    if (failed.length > 0 || errors > 0) return 'killed'
  }
  return 'survived'
}

async function ask(number, tests, limitMs) {
  if (worker === undefined) {
    const env = { ...process.env, ROOT, MUTATION_FOLDER: folder }
    worker = fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), { cwd: ROOT, env, detached: true })
    await once(worker, 'message')
  }
  worker.send({ number, files: tests.map((file) => join(ROOT, file)) })
  let timer
  const hung = new Promise((done) => {
    if (Number.isFinite(limitMs)) timer = setTimeout(done, limitMs)
  })
  const [reply] = await Promise.race([once(worker, 'message'), hung.then(() => [undefined])])
  clearTimeout(timer)
  if (reply !== undefined) return reply
  // Kills the whole process group: the process that hangs is a child of the worker.
  process.kill(-worker.pid, 'SIGKILL')
  worker = undefined
  return { isHung: true }
}

function readReached() {
  const by = new Map()
  for (const name of readdirSync(join(folder, 'reached'))) {
    const { testPath, reached } = JSON.parse(readFileSync(join(folder, 'reached', name), 'utf8'))
    for (const number of reached) by.set(number, [...(by.get(number) ?? []), testPath.slice(ROOT.length + 1)])
  }
  return by
}

/** Fisher-Yates, with random numbers from mulberry32. The same seed gives the same order. */
function shuffle(list, seed) {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const shuffled = [...list]
  for (let at = shuffled.length - 1; at > 0; at--) {
    const other = Math.floor(random() * (at + 1))
    ;[shuffled[at], shuffled[other]] = [shuffled[other], shuffled[at]]
  }
  return shuffled
}

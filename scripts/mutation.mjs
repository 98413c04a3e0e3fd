// Mutation testing of the code that decides the outcome of events: Stryker makes small changes to the sources, one at a time, and
// the unit tests that reach the changed place must fail. All changes would take a day, so this script draws a random sample of
// places. Fails if the tests noticed less than the share that CONTRIBUTING.md requires. Usage:
//   node scripts/mutation.mjs [--sample 300] [--seed 1] [--only src/core/pump.ts]
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Stryker } from '@stryker-mutator/core'
import { Instrumenter } from '@stryker-mutator/instrumenter'

const FOLDERS = ['src/core', 'src/events', 'src/delivery', 'src/client', 'src/message']
const FILES = ['src/http/verdict.ts', 'src/http/waits.ts']
const MIN_SCORE = 76
/** A place of more lines, such as the body of a long function, contains too many other changes. */
const MAX_LINES = 8

const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  },
})
// Before `--help`, which a test runs: it fails when a folder has been moved.
const names = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true }).map((name) => join(folder, name)),
)
for (const name of FILES) names.push(relative(process.cwd(), realpathSync(name)))
if (values.help) {
  console.log('node scripts/mutation.mjs [--sample 300] [--seed 1] [--only src/core/pump.ts]')
  process.exit()
}
const files = names.filter((name) => values.only?.includes(name) ?? name.endsWith('.ts')).sort()
const silent = { debug() {}, info() {}, isDebugEnabled: () => false }
const { mutants } = await new Instrumenter(silent).instrument(
  files.map((name) => ({ name, mutate: true, content: readFileSync(name, 'utf8') })),
  { excludedMutations: [], ignorers: [], plugins: null },
)

/** Places, and with each the changes inside it, because Stryker makes these too. */
const places = []
const drawn = new Set()
for (const { fileName, location } of shuffle(mutants, Number(values.seed))) {
  if (drawn.size >= Number(values.sample)) break
  const { start, end } = location
  if (end.line - start.line >= MAX_LINES) continue
  places.push(`${fileName}:${start.line + 1}:${start.column}-${end.line + 1}:${end.column}`)
  for (const other of mutants) {
    if (other.fileName === fileName && isWithin(other.location, location)) drawn.add(other)
  }
}
console.log(`${drawn.size} of ${mutants.length} changes, seed ${values.seed}`)

await new Stryker({
  mutate: places,
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'scripts/mutation.vitest.ts', related: false },
  coverageAnalysis: 'perTest',
  concurrency: 2,
  // A change that makes tests hang counts as noticed, so a busy machine must not make them time out.
  timeoutMS: 30_000,
  timeoutFactor: 8,
  thresholds: { break: MIN_SCORE },
  reporters: ['clear-text'],
  clearTextReporter: { allowColor: false, reportTests: false },
  tempDirName: '.cache/stryker',
  ignorePatterns: ['/.cache', '/bench', '/cli', '/cluster', '/collector', '/dist', '/docs', '/examples'],
}).runMutationTest()

function isWithin(inner, outer) {
  const isBefore = (one, other) =>
    one.line < other.line || (one.line === other.line && one.column <= other.column)
  return isBefore(outer.start, inner.start) && isBefore(inner.end, outer.end)
}

/** In the order of numbers from mulberry32: the same seed gives the same order. */
function shuffle(list, seed) {
  let state = seed
  const random = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  return list
    .map((one) => ({ one, at: random() }))
    .sort((one, other) => one.at - other.at)
    .map(({ one }) => one)
}

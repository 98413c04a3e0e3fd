/**
 * Runs the fault suite and prints its table: `npm run test:faults`, `npm run test:faults -- --full`.
 * Other arguments go to vitest: `npm run test:faults -- -t F09`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const isFull = process.argv.includes('--full') || process.env.TEST_FULL === '1'
const passedOn = process.argv.slice(2).filter((argument) => argument !== '--full')

const results = join(root, 'test-results')
const lines = join(results, 'faults.jsonl')
mkdirSync(results, { recursive: true })
rmSync(lines, { force: true })

// Copies the build, so that another build during the suite does not change the package under test.
const given = process.env.TRACKPOST_DIST ?? join(root, 'dist')
if (!existsSync(join(given, 'index.js'))) {
  console.error('test:faults: there is no built package; run `npm run build` first')
  process.exit(1)
}
const scratch = join(root, '.cache', `faults-${process.pid}`)
const copy = join(scratch, 'dist')
cpSync(given, copy, { recursive: true })

const startMs = performance.now()
const { status } = spawnSync(
  process.execPath,
  [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project=faults',
    '--maxWorkers=2',
    '--maxConcurrency=8',
    ...passedOn,
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      FAULTS_FULL: isFull ? '1' : '0',
      FAULTS_LINES: lines,
      TRACKPOST_DIST: copy,
      FAULTS_SCRATCH: scratch,
    },
  },
)
const seconds = (performance.now() - startMs) / 1_000
rmSync(scratch, { recursive: true, force: true })
printTable()
process.exit(status ?? 1)

function printTable() {
  if (!existsSync(lines)) return
  const rows = readFileSync(lines, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
    .filter(
      (line, _index, all) =>
        line.isStart !== true ||
        !all.some(
          (end) =>
            end.isStart !== true &&
            end.row === line.row &&
            end.injected === line.injected &&
            end.title === line.title,
        ),
    )
    .sort((one, other) => one.row.localeCompare(other.row, 'en', { numeric: true }))
  const cut = (text, width) => (text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width))
  console.log(`\n${cut('row', 6)} ${cut('injected', 56)} ${'times'.padStart(8)}  ${cut('s', 5)} outcome`)
  for (const { row, injected, times, ms, outcome, isPassed } of rows) {
    const time = (ms / 1_000).toFixed(1)
    console.log(
      `${cut(row, 6)} ${cut(injected, 56)} ${String(times).padStart(8)}  ${cut(time, 5)} ${isPassed ? '' : '!! '}${outcome}`,
    )
  }
  const failed = rows.filter(({ isPassed }) => !isPassed)
  const faults = rows.reduce((sum, { times }) => sum + times, 0)
  console.log(
    `\n${rows.length} rows run, ${failed.length} failed; ${faults} faults injected in ${seconds.toFixed(0)} s ` +
      `(${isFull ? 'full' : 'default'} size)`,
  )
}

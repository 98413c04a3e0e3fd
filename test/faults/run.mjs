/**
 * Runs the fault suite: `npm run test:faults`, `npm run test:faults -- --full`. Other arguments go to vitest:
 * `npm run test:faults -- -t F09`.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')
const isFull = process.argv.includes('--full') || process.env.TEST_FULL === '1'
const passedOn = process.argv.slice(2).filter((argument) => argument !== '--full')

// Copies the build, so that another build during the suite does not change the package under test.
const given = process.env.TRACKPOST_DIST ?? join(root, 'dist')
if (!existsSync(join(given, 'index.js'))) {
  console.error('test:faults: there is no built package; run `npm run build` first')
  process.exit(1)
}
const scratch = join(root, '.cache', `faults-${process.pid}`)
const copy = join(scratch, 'dist')
cpSync(given, copy, { recursive: true })

const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', '--project=faults', '--maxWorkers=2', '--maxConcurrency=8', ...passedOn],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, FAULTS_FULL: isFull ? '1' : '0', TRACKPOST_DIST: copy, FAULTS_SCRATCH: scratch },
  },
)
rmSync(scratch, { recursive: true, force: true })
process.exit(status ?? 1)

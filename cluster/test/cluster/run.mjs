/**
 * Runs only the cluster test: `npm run test:cluster --workspace trackpost-cluster -- [--full] [--seed 1] [--events 5000]`.
 * --full sends 200,000 events to each kind of cluster, and checks that they are processed within a minute after each storm.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: process.env.TEST_FULL === '1' },
    seed: { type: 'string' },
    events: { type: 'string' },
  },
})
const { status } = spawnSync('npx', ['vitest', 'run', 'test/cluster'], {
  cwd: fileURLToPath(new URL('../..', import.meta.url)),
  stdio: 'inherit',
  env: {
    ...process.env,
    TEST_FULL: values.full ? '1' : '0',
    ...(values.seed !== undefined && { CLUSTER_SEED: values.seed }),
    ...(values.events !== undefined && { CLUSTER_EVENTS: values.events }),
  },
})
process.exitCode = status ?? 1

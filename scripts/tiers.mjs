// The forms of `npm test`: these lists name the tests that `npm test` leaves out and `npm test -- --full` runs. Test files that
// no list names run in both forms. Paths begin at the root of the repository. A folder stands for all files below it.

/** Steps of scripts/test.mjs that the default form leaves out, with a description of their tests. */
export const FULL_STEPS = {
  runtimes: 'the package on Node.js 16 to 26, Bun, Deno and workerd',
  frameworks: 'the examples with web frameworks',
  site: 'the documentation site, in a real Chromium',
  mutation: 'mutation testing: whether the tests notice six changes of one source file',
  'bench:guard': 'CPU per event, compared with the floor',
}

/** By subject. */
export const FULL_FILES = {
  'the package in bundlers, in test runners, with every TypeScript, beside other libraries, and its public types compared with their recorded reports':
    [
      'test/package/bundlers.test.ts',
      'test/package/compat.test.ts',
      'test/package/migration.test.ts',
      'test/package/ported.test.ts',
      'test/package/public-types.test.ts',
      'test/package/release.test.ts',
      'test/package/reproducible.test.ts',
      'test/package/testing.test.ts',
      'test/package/typescript.test.ts',
    ],
  'examples with other libraries or with measurements': [
    'test/examples/observability.test.ts',
    'test/examples/opentelemetry.test.ts',
    'test/examples/proxy.test.ts',
  ],
  'the cluster: the store on PostgreSQL, the log on NATS, the destination on ClickHouse, and parts that fail':
    [
      'cluster/test/clickhouse/clickhouse.test.ts',
      'cluster/test/cluster',
      'cluster/test/ingest-cost.test.ts',
      'cluster/test/log/late-store.test.ts',
      'cluster/test/log/nats.test.ts',
      'cluster/test/log/page.test.ts',
      'cluster/test/log/processes.test.ts',
      'cluster/test/log/three-servers.test.ts',
      'cluster/test/log/tokens.test.ts',
      'cluster/test/log/unusable.test.ts',
      'cluster/test/ops/log.test.ts',
      'cluster/test/ops/postgres.test.ts',
      'cluster/test/ops/silent.test.ts',
      'cluster/test/ops/silent-store.test.ts',
      'cluster/test/postgres/address.test.ts',
      'cluster/test/postgres/conformance.test.ts',
      'cluster/test/postgres/contract.test.ts',
      'cluster/test/postgres/crash.test.ts',
      'cluster/test/postgres/processes.test.ts',
      'cluster/test/postgres/questions',
      'cluster/test/postgres/rate-limits.test.ts',
      'cluster/test/postgres/reader.test.ts',
      'cluster/test/postgres/search.test.ts',
      'cluster/test/postgres/store.test.ts',
      'cluster/test/postgres/tokens.test.ts',
      'cluster/test/postgres/upkeep.test.ts',
      'cluster/test/postgres/user.test.ts',
      'cluster/test/tls.test.ts',
    ],
  'the page of the collector, in a real Chromium': [
    'collector/test/clients/segment-analytics-next.test.ts',
    'collector/test/page/admin.test.ts',
    'collector/test/page/connection.test.ts',
    'collector/test/page/events.test.ts',
    'collector/test/page/hostile-text.test.ts',
    'collector/test/page/layout.test.ts',
    'collector/test/page/list.test.ts',
    'collector/test/page/odd.test.ts',
    'collector/test/page/screens.test.ts',
    'collector/test/page/view.test.ts',
  ],
  'the collector and the cluster as packages, as an image, and as operators start, watch and restore them': [
    'cluster/test/deploy/image.test.ts',
    'cluster/test/deploy/monitoring.test.ts',
    'cluster/test/deploy/restore.test.ts',
    'cluster/test/deploy/without-docker.test.ts',
    'cluster/test/package.test.ts',
    'collector/test/package/package.test.ts',
  ],
  'memory of the command line with 100,000 lines and lines of 200 MB': ['cli/test/memory.test.ts'],
  'the guide on tracking plans, with the collector and the compiler': ['cli/test/tracking-plans.test.ts'],
}

/**
 * Files that run only with `--full`, each night: the continuous integration, which runs the default form and `--rest`, must end
 * within 12 minutes.
 */
export const LONG_FILES = [
  'cli/test/memory.test.ts',
  'cli/test/tracking-plans.test.ts',
  'cluster/test/cluster',
  'cluster/test/log/late-store.test.ts',
  'cluster/test/log/page.test.ts',
  'cluster/test/log/processes.test.ts',
  'cluster/test/postgres/processes.test.ts',
  'collector/test/page/connection.test.ts',
  'collector/test/page/layout.test.ts',
  'test/package/ported.test.ts',
  'test/package/typescript.test.ts',
]

/** The default form leaves out these rows of docs/faults.md: their fault takes seconds of real time even with a faster clock. */
export const FULL_ROWS = [
  ...['F03', 'F06', 'F07', 'F08', 'F09', 'F10', 'F11', 'F13', 'F14', 'F15', 'F16', 'F20', 'F29'],
  ...['F48', 'F49', 'F78', 'F79', 'F85', 'F103', 'F106'],
]

/** The full form runs more tests of these files, or runs them with larger sizes. */
export const BOTH_FILES = {
  '10,000 interleavings instead of 1,000': ['test/interleavings-1.test.ts', 'test/interleavings-2.test.ts'],
  [`rows of the fault matrix that wait in real time: ${FULL_ROWS.join(', ')}`]: [
    'test/faults/overload.test.ts',
    'test/faults/plugins.test.ts',
    'test/faults/rates.test.ts',
    'test/faults/shutdown.test.ts',
    'test/faults/transport.test.ts',
  ],
}

/**
 * The form of `npm test`: `default`, `rest` (tests that the default form leaves out, without `LONG_FILES`) or `full`. Without
 * scripts/test.mjs, it is `full`.
 */
export const TIER = process.env.TEST_TIER ?? 'full'

/**
 * The patterns of the files that a vitest project runs in this form.
 *
 * @param below The folder of the project, as a path in the repository. Files outside of it are ignored.
 * @param root The folder at which patterns begin, as a path in the repository.
 */
export function filesOfTier({ include, exclude = [], below, root = '' }) {
  const pick = (lists) =>
    Object.values(lists)
      .flat()
      .filter((path) => `${path}/`.startsWith(below))
      .map((path) => path.slice(root.length))
      .map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`))
  if (TIER === 'default') return { include, exclude: [...exclude, ...pick(FULL_FILES)] }
  if (TIER === 'full') return { include, exclude }
  const excluded = pick({ LONG_FILES })
  const rest = [...pick(FULL_FILES), ...pick(BOTH_FILES)].filter((pattern) => !excluded.includes(pattern))
  return { include: rest, exclude: [...exclude, ...excluded] }
}

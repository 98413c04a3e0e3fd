import { defineConfig } from 'vitest/config'
import { FULL_STEPS, filesOfTier, TIER } from './scripts/tiers.mjs'

/** Over real sockets, in real time: what is true of the sources as a whole. */
const endToEnd = ['test/auth/end-to-end.test.ts']

/**
 * Unit tests that replace modules, or bring a dispatcher that stays the one of the process. All others share a process: one
 * for each file would take as long as their tests.
 */
const replacing = [
  'test/analytics.test.ts',
  'test/auth/private-key.web.test.ts',
  'test/client/requests.test.ts',
  'test/client/verify.test.ts',
  'test/http/dispatcher.test.ts',
  'test/http/node-client.test.ts',
  'test/message/utf8.test.ts',
  'test/runtime/*.test.ts',
  'test/scope/run.test.ts',
]

/** Suites that drive the built package, each in processes of its own; the rest of `test/` mirrors `src/`. */
const builtSuites = [
  'package',
  'examples',
  'frameworks',
  'faults',
  'runtimes',
  'serverless',
  'site',
  'spool/proof',
]

/** What is prepared once for all files of a suite. */
const installed = 'test/support/project.setup.ts'
const setups: Record<string, string[]> = {
  package: [installed],
  frameworks: ['test/support/frameworks.setup.ts', installed],
  runtimes: ['test/support/runtimes.setup.ts', 'test/support/frameworks.setup.ts', installed],
  serverless: ['test/support/runtimes.setup.ts', installed],
}

/** A limit that only a test reaches which hangs: no machine is slow enough to decide one. */
const limits = { testTimeout: 120_000, hookTimeout: 300_000 }

/** Of a suite that only the full form has, all files. */
function filesOf(suite: string) {
  const include = [`test/${suite}/**/*.test.ts`]
  const isWhole = suite in FULL_STEPS || suite === 'serverless'
  return isWhole ? { include } : filesOfTier({ include, below: `test/${suite}/` })
}

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          isolate: false,
          setupFiles: ['test/support/seed.ts'],
          ...filesOfTier({
            include: ['test/**/*.test.ts'],
            exclude: [...builtSuites.map((suite) => `test/${suite}/**`), ...endToEnd, ...replacing],
            below: 'test/',
          }),
        },
      },
      {
        test: {
          ...limits,
          name: 'unit:replacing',
          setupFiles: ['test/support/seed.ts'],
          include: TIER === 'rest' ? [] : replacing,
        },
      },
      { test: { ...limits, name: 'end-to-end', include: endToEnd } },
      ...builtSuites.map((suite, index) => ({
        test: {
          ...limits,
          name: suite,
          ...filesOf(suite),
          // One suite after the other, and one file after the other: each installs the package and starts processes.
          ...(suite === 'faults' ? {} : { maxWorkers: 1 }),
          sequence: { groupOrder: index + 1 },
          globalSetup: setups[suite] ?? [],
        },
      })),
    ],
  },
})

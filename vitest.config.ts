import { defineConfig } from 'vitest/config'
import { filesOfTier, TIER } from './scripts/tiers.mjs'

/** Over real sockets, in real time. */
const endToEnd = ['test/auth/end-to-end.test.ts']

/**
 * Unit tests that replace modules, or set the dispatcher of their process. All others share a process: a process for each file
 * would take as long as the tests.
 */
const replacing = [
  'test/settings/private-key.web.test.ts',
  'test/http/default-client.test.ts',
  'test/http/clients.test.ts',
  'test/message/utf8.test.ts',
  'test/runtime/{detect,warn}.test.ts',
  'test/scope/run.test.ts',
]

/** Suites that test the built package. The rest of `test/` mirrors `src/`. */
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

/** Setups run once for all files of a suite. */
const installed = 'test/support/project.setup.ts'
const packages = 'test/support/packages.setup.ts'
const setups: Record<string, string[]> = {
  package: [installed],
  frameworks: [packages, installed],
  runtimes: [packages, installed],
  serverless: [packages, installed],
}

/** Only a test that hangs reaches these limits. */
const limits = { testTimeout: 120_000, hookTimeout: 300_000 }

/** The default form leaves out these suites as a whole. */
const whole = ['frameworks', 'runtimes', 'serverless', 'site']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          pool: 'threads',
          isolate: false,
          setupFiles: ['test/support/seed.ts'],
          ...filesOfTier('test', [
            ...builtSuites.map((suite) => `test/${suite}/**`),
            ...endToEnd,
            ...replacing,
          ]),
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
          ...(whole.includes(suite)
            ? { include: [`test/${suite}/**/*.test.ts`] }
            : filesOfTier(`test/${suite}`)),
          // One file at a time, since each installs the package and starts processes; those of `faults` mostly wait.
          ...(suite === 'faults' ? {} : { maxWorkers: 1 }),
          sequence: { groupOrder: index + 1 },
          globalSetup: setups[suite] ?? [],
        },
      })),
    ],
  },
})

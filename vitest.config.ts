import { defineConfig } from 'vitest/config'

/** Over real sockets, in real time: what is true of the sources as a whole. */
const endToEnd = ['test/auth/end-to-end.test.ts']

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
  runtimes: ['test/support/runtimes.setup.ts', installed],
  serverless: ['test/support/runtimes.setup.ts', installed],
}

/** A limit that only a test reaches which hangs: no machine is slow enough to decide one. */
const limits = { testTimeout: 120_000, hookTimeout: 300_000 }

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...limits,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          setupFiles: ['test/support/seed.ts'],
          exclude: [...builtSuites.map((suite) => `test/${suite}/**`), ...endToEnd],
        },
      },
      { test: { ...limits, name: 'end-to-end', include: endToEnd } },
      ...builtSuites.map((suite, index) => ({
        test: {
          ...limits,
          name: suite,
          include: [`test/${suite}/**/*.test.ts`],
          // One suite after the other, and one file after the other: each installs the package and starts processes.
          ...(suite === 'faults' ? {} : { maxWorkers: 1 }),
          sequence: { groupOrder: index + 1 },
          globalSetup: setups[suite] ?? [],
        },
      })),
    ],
  },
})

import { defineConfig } from 'vitest/config'

/** Over real sockets, in real time: what is true of the sources as a whole. */
const endToEnd = ['test/auth/end-to-end.test.ts']

/** Suites that drive the built package, each in processes of its own; the rest of `test/` mirrors `src/`. */
const builtSuites = ['package', 'examples', 'faults', 'runtimes', 'serverless']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          setupFiles: ['test/support/seed.ts'],
          exclude: [...builtSuites.map((suite) => `test/${suite}/**`), ...endToEnd],
        },
      },
      { test: { name: 'end-to-end', include: endToEnd } },
      ...builtSuites.map((suite) => ({
        test: {
          name: suite,
          include: [`test/${suite}/**/*.test.ts`],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      })),
    ],
  },
})

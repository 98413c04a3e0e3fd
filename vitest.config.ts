import { defineConfig } from 'vitest/config'

/** Suites that drive the built package, each in processes of its own; the rest of `test/` mirrors `src/`. */
const builtSuites = ['package', 'examples', 'faults', 'runtimes', 'serverless']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: builtSuites.map((suite) => `test/${suite}/**`),
        },
      },
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

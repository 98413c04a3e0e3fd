import { defineConfig } from 'vitest/config'

/** Suites that drive the built package or real processes; the rest of `test/` mirrors `src/`. */
const builtSuites = ['test/package', 'test/examples', 'test/faults', 'test/runtimes']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: builtSuites.map((folder) => `${folder}/**`),
        },
      },
    ],
  },
})

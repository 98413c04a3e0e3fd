import { defineConfig } from 'vitest/config'

/** They replace modules, and each needs a process of its own. */
const replacing = ['test/client/{lifecycle,verify}.test.ts', 'test/message/utf8.test.ts']

/** The unit tests of the changed folders, without those that try thousands of orders of events. */
const include = [
  'test/{core,delivery,client,message,pipeline}/*.test.ts',
  'test/http/{verdict,waits}.test.ts',
  'test/analytics.test.ts',
]
const test = { setupFiles: ['test/support/seed.ts'], testTimeout: 100_000 }

export default defineConfig({
  test: {
    projects: [
      { test: { ...test, name: 'unit', include, exclude: replacing, isolate: false } },
      { test: { ...test, name: 'replacing', include: replacing } },
    ],
  },
})

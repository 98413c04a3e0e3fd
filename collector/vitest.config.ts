import { defineConfig } from 'vitest/config'
import { filesOfTier } from '../scripts/tiers.mjs'

export default defineConfig({
  test: {
    name: 'collector',
    ...filesOfTier(),
    globalSetup: ['test/temporary-folder.setup.ts', 'test/build.setup.ts'],
    // Most files wait for browsers, servers and processes; with one worker, the machine idles half of the time.
    maxWorkers: 2,
    // Loading the modules anew for each file would take two thirds more CPU time (in the default form of `npm test`).
    isolate: false,
    testTimeout: 120_000,
    // For hooks that start a server or remove a project.
    hookTimeout: 120_000,
    // Only a test that fails reaches this limit.
    expect: { poll: { timeout: 60_000 } },
  },
})

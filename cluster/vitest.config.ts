import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { filesOfTier } from '../scripts/tiers.mjs'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^trackpost-cluster$/, replacement: source('src/index.ts') },
      { find: /^trackpost-collector$/, replacement: source('../collector/src/index.ts') },
    ],
  },
  test: {
    name: 'cluster',
    ...filesOfTier(),
    globalSetup: ['../collector/test/temporary-folder.setup.ts', 'test/build.setup.ts'],
    // Most files wait for servers and processes; with one worker, the machine idles half of the time.
    maxWorkers: 2,
    // Loading the modules anew for each file would take two thirds more CPU time.
    isolate: false,
    testTimeout: 120_000,
    // For hooks that start a server or remove a project.
    hookTimeout: 120_000,
    // Only a test that fails reaches this limit.
    expect: { poll: { timeout: 60_000 } },
  },
})

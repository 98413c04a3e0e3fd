import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { filesOfTier } from '../scripts/tiers.mjs'

const source = (path: string): string => fileURLToPath(new URL(`../src/${path}`, import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^trackpost$/, replacement: source('index.ts') },
      { find: /^trackpost\/node$/, replacement: source('node.ts') },
    ],
  },
  test: {
    name: 'cli',
    ...filesOfTier(),
    globalSetup: ['../collector/test/temporary-folder.setup.ts', 'test/build.setup.ts'],
    // Loading the modules anew for each file would take longer than its tests.
    isolate: false,
    // Only a test that hangs reaches this limit.
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
})

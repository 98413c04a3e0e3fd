import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/cli.ts'],
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  // `cli` is an entry of its own only for the launcher in bin/; nobody imports its types.
  dts: { entry: 'src/index.ts' },
  sourcemap: true,
  // The test run rebuilds in place; a folder emptied first would break a collector running beside it.
  clean: false,
  // One name for the shared part, for the same reason: nothing old is left behind.
  esbuildOptions(options) {
    options.chunkNames = 'shared'
  },
})

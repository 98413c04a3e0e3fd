import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/cli.ts'],
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  // Tests rebuild in place: emptying the folder first would break a collector that loads it.
  clean: false,
  // Resolved at run time, so that the installed collector is used.
  external: [/^trackpost-collector(\/|$)/],
  dts: { entry: 'src/index.ts' },
})

import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  // Tests rebuild in place: emptying the folder first would break a collector that loads it.
  clean: false,
  // Resolved at run time, so that the collector and its drivers share one copy.
  external: [/^trackpost-collector(\/|$)/],
  dts: true,
})

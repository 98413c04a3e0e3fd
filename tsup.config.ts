import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts'],
  format: ['esm', 'cjs'],
  target: 'node16',
  platform: 'neutral',
  external: [/^node:/],
  dts: true,
  clean: true,
  splitting: true,
})

import { writeFileSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'
import { licenses } from '../scripts/licenses.mjs'

const common: Options = {
  target: 'node20',
  platform: 'node',
  // The test run rebuilds in place; a folder emptied first would break a collector running beside it.
  clean: false,
  esbuildPlugins: [licenses('dist/LICENSES.txt')],
}

/** The types are made once, as those of CommonJS: ES modules can import them, and not the other way round. */
async function shareTypes(): Promise<void> {
  writeFileSync('dist/index.d.ts', "export * from './index.cjs'\n")
}

export default defineConfig([
  {
    ...common,
    // `cli` is an entry of its own only for the launcher in bin/; nobody imports its types.
    entry: { index: 'src/index.ts', cli: 'src/cli/main.ts' },
    format: ['esm'],
    // Libraries that are CommonJS ask for modules of Node.js by `require`.
    banner: {
      js: "import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);",
    },
    onSuccess: shareTypes,
    esbuildOptions(options) {
      // Beside the entries: modules find the files of the package by their own address.
      options.chunkNames = '[name]-[hash]'
    },
  },
  {
    ...common,
    entry: ['src/index.ts'],
    format: ['cjs'],
    dts: {
      entry: 'src/index.ts',
      // For `await using`: not every project's settings name this library.
      banner: '/// <reference lib="esnext.disposable" />',
    },
    // The address of a module, by which it finds the files beside the code.
    define: { 'import.meta.url': 'importMetaUrl' },
    banner: { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" },
  },
  {
    ...common,
    // Each thread is one file that shares nothing.
    entry: ['src/workers/reader.ts', 'src/workers/checkpoint.ts'],
    outDir: 'dist/workers',
    format: ['esm'],
    splitting: false,
  },
])

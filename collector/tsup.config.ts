import { writeFileSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'
import { licenses } from '../scripts/licenses.mjs'

const common: Options = {
  // Loaded at run time, if it is installed.
  external: ['trackpost-cluster'],
  target: 'node20',
  platform: 'node',
  // Tests rebuild in place: emptying the folder first would break a collector that runs from it.
  clean: false,
  esbuildPlugins: [licenses('dist/LICENSES.txt')],
}

/** The types are built once, for CommonJS: ES modules can import those, but CommonJS could not import types of ES modules. */
async function shareTypes(): Promise<void> {
  writeFileSync('dist/index.d.ts', "export * from './index.cjs'\n")
}

export default defineConfig([
  {
    ...common,
    // `cli` is an entry only for the launcher in bin/, so it needs no types.
    entry: { index: 'src/index.ts', cli: 'src/cli/main.ts' },
    format: ['esm'],
    // Bundled CommonJS libraries load the modules of Node.js with `require`.
    banner: {
      js: "import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);",
    },
    onSuccess: shareTypes,
    esbuildOptions(options) {
      // In the same folder as the entries, since modules find the files of the package by their own path.
      options.chunkNames = '[name]-[hash]'
    },
  },
  {
    ...common,
    entry: ['src/index.ts'],
    format: ['cjs'],
    dts: {
      entry: 'src/index.ts',
      // For `await using`, declared as in TypeScript's library and in @types/node. A reference to that library would fail
      // before TypeScript 5.2.
      banner: [
        'declare global {',
        '  interface SymbolConstructor { readonly dispose: unique symbol; readonly asyncDispose: unique symbol }',
        '  interface Disposable { [Symbol.dispose](): void }',
        '  interface AsyncDisposable { [Symbol.asyncDispose](): PromiseLike<void> }',
        '}',
      ].join('\n'),
    },
    // The URL of the module, by which it finds the files of the package.
    define: { 'import.meta.url': 'importMetaUrl' },
    banner: { js: "const importMetaUrl = require('node:url').pathToFileURL(__filename).href;" },
  },
])

import { readFileSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { defineConfig, type Options } from 'tsup'

const common: Options = {
  target: 'node20',
  platform: 'node',
  // The test run rebuilds in place; a folder emptied first would break a collector running beside it.
  clean: false,
  esbuildPlugins: [{ name: 'licenses', setup: (build) => build.onEnd(writeLicenses) }],
}

const bundled = new Map<string, string>()

/** What is built in of other packages is shipped under their licenses. */
async function writeLicenses({ metafile }: { metafile?: { inputs: object } | undefined }): Promise<void> {
  for (const path of Object.keys(metafile?.inputs ?? {})) {
    const [, folder, name] = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(path) ?? []
    if (folder === undefined || name === undefined || bundled.has(name)) continue
    const file = (await readdir(folder)).find((one) => /^licen[sc]e/i.test(one))
    const { license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { license: string }
    bundled.set(name, file === undefined ? license : readFileSync(join(folder, file), 'utf8').trim())
  }
  const parts = [...bundled].sort().map(([name, text]) => `${name}\n\n${text}\n`)
  writeFileSync('dist/LICENSES.txt', parts.join(`\n${'-'.repeat(80)}\n\n`))
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
    // What modules know as their own address; the files beside the code are found by it.
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

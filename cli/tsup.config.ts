import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import { defineConfig } from 'tsup'
import { licenses } from '../scripts/licenses.mjs'

const root = new URL('..', import.meta.url)
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  exports: Record<string, { default: string }>
}

/** Resolves `trackpost` to the built SDK: npm does not link the root of a workspace into its members. */
const sdk: Plugin = {
  name: 'sdk',
  setup(build) {
    build.onResolve({ filter: /^trackpost(\/|$)/ }, ({ path }) => {
      const entry = exports[`.${path.slice('trackpost'.length)}`]
      if (entry === undefined) return { errors: [{ text: `${path} is not an entry point of the SDK` }] }
      return { path: fileURLToPath(new URL(entry.default, root)) }
    })
  },
}

/** json-schema-to-typescript loads prettier, which is megabytes, although we never let it format. */
const withoutPrettier: Plugin = {
  name: 'without-prettier',
  setup(build) {
    build.onResolve({ filter: /^prettier$/ }, ({ path }) => ({ path, namespace: 'without-prettier' }))
    build.onLoad({ filter: /./, namespace: 'without-prettier' }, () => ({ contents: 'module.exports = {}' }))
  },
}

export default defineConfig({
  entry: ['src/main.ts'],
  format: ['esm'],
  target: 'node18',
  platform: 'node',
  clean: true,
  // The SDK is bundled, so that it always has the version of the command. The libraries for types are bundled too: an install
  // of them would bring fifteen packages and 25 MB.
  noExternal: [/^trackpost(\/|$)/, /^json-schema-to-typescript$/, /^ajv/],
  esbuildPlugins: [sdk, withoutPrettier, licenses('dist/LICENSES.txt', '../dist/LICENSES.txt')],
  banner: {
    js: "import { createRequire as newRequire } from 'node:module'; const require = newRequire(import.meta.url);",
  },
  // If the environment has VERBOSE, json-schema-to-typescript would write its log to stdout, between the types.
  define: { 'process.env.VERBOSE': 'undefined' },
})

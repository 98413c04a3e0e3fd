import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'esbuild'
import { defineConfig } from 'tsup'

const root = new URL('..', import.meta.url)
const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  exports: Record<string, { default: string }>
}

/** The SDK as it was built, from its own package: npm does not link the root of a workspace into its members. */
const sdk: Plugin = {
  name: 'sdk',
  setup(build) {
    build.onResolve({ filter: /^trackpost(\/|$)/ }, ({ path }) => {
      const entry = exports[`.${path.slice('trackpost'.length)}`]
      if (entry === undefined) return { errors: [{ text: `${path} is no entry of the SDK` }] }
      return { path: fileURLToPath(new URL(entry.default, root)) }
    })
  },
}

export default defineConfig({
  entry: ['src/main.ts'],
  format: ['esm'],
  target: 'node18',
  platform: 'node',
  clean: true,
  // The SDK goes into the build, with what it depends on: one version of both, and one package less to install.
  noExternal: [/^trackpost(\/|$)/, /^@lukeed\/uuid/],
  esbuildPlugins: [sdk],
})

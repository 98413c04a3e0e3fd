import { join } from 'node:path'
import type { Plugin } from 'esbuild'
import { defineConfig, type Options } from 'tsup'

const common: Options = {
  target: 'node16',
  platform: 'neutral',
  external: [/^node:/],
  // Runtimes other than Node.js know its modules by this prefix only.
  removeNodeProtocol: false,
  // No `splitting`: ES modules are split by default. CommonJS stays one file, which bundlers and copies of it count on.
  esbuildOptions(options, { format }) {
    if (format !== 'cjs') return
    // Only for this platform does esbuild name the exports where Node.js and TypeScript look for them.
    options.platform = 'node'
    // It leaves out the default export; never executed, only read.
    options.footer = { js: '0 && (exports.default = 0);' }
  },
}

const declarations: Options['dts'] = {
  compilerOptions: { stripInternal: true },
  // For `await using`, as TypeScript's own library and @types/node have it. Not by a reference to that library:
  // TypeScript before 5.2 does not know it.
  banner: [
    'declare global {',
    '  interface SymbolConstructor { readonly dispose: unique symbol; readonly asyncDispose: unique symbol }',
    '  interface Disposable { [Symbol.dispose](): void }',
    '  interface AsyncDisposable { [Symbol.asyncDispose](): PromiseLike<void> }',
    '}',
  ].join('\n'),
}

/** Edge runtimes have no `node:` modules: their build has `x.web.ts` wherever the other one has `x.node.ts`. */
const webPlatform: Plugin = {
  name: 'web-platform',
  setup(build) {
    build.onResolve({ filter: /\.node\.ts$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace(/\.node\.ts$/, '.web.ts')),
    }))
  },
}

export default defineConfig([
  // They run side by side: cleaning must not remove what another one has just written.
  {
    ...common,
    entry: ['src/index.ts', 'src/node.ts'],
    format: ['esm', 'cjs'],
    // The types of all entries are built together: a `Context` of one must be that of the others.
    dts: { ...declarations, entry: ['src/index.ts', 'src/node.ts', 'src/plugins.ts'] },
    clean: ['!web/**', '!plugins.*js'],
  },
  {
    ...common,
    // By itself: what it shares with the others would be split off, and `import 'trackpost'` would load one file more.
    entry: ['src/plugins.ts'],
    format: ['esm', 'cjs'],
  },
  {
    ...common,
    entry: ['src/index.ts'],
    outDir: 'dist/web',
    format: 'esm',
    clean: true,
    esbuildPlugins: [webPlatform],
    // Programs for edge runtimes are bundled, and nobody reads this copy.
    esbuildOptions(options) {
      options.minifyWhitespace = true
      options.minifySyntax = true
    },
  },
])

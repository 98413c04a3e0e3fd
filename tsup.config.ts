import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { defineConfig, type Options } from 'tsup'
import { licenses } from './scripts/licenses.mjs'

/**
 * `src/NAME.ts` becomes the entry point `trackpost/NAME`. Add a new one here, and to `exports` and `typesVersions` of
 * package.json: a test compares the three.
 */
export const ENTRIES: readonly string[] = [
  'node',
  'plugins',
  'scope',
  'testing',
  'msw',
  'spool',
  'workers',
  'compat',
]

/**
 * Modules that exist once, in the main entry, because users compare with their classes (`instanceof`). The other entries import
 * them from there, so they can use only what is public.
 */
const PUBLIC = ['index.ts', 'analytics.ts', 'errors/errors.ts', 'pipeline/context.ts']

/** Replaces an import of `x.node.ts` by `#platform`, which the runtime or the bundler resolves. */
const choosePlatform: Plugin = {
  name: 'choose-platform',
  setup(build) {
    const platform = readFileSync('src/platform.node.ts', 'utf8')
    build.onResolve({ filter: /\.node\.ts$/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point' || basename(importer) === 'platform.node.ts') return undefined
      if (platform.includes(`/${basename(path)}'`)) return { path: '#platform', external: true }
      return { errors: [{ text: `src/platform.node.ts does not export ${path}` }] }
    })
  },
}

/** Imports these modules from another file of the build, instead of bundling them. */
function importFrom(file: string, names: readonly string[]): Plugin {
  return {
    name: 'import-from',
    setup(build) {
      build.onResolve({ filter: /\.ts$/ }, ({ path, resolveDir, kind }) => {
        if (kind === 'entry-point') return undefined
        const name = relative('src', join(resolveDir, path)).split(sep).join('/')
        return names.includes(name) ? { path: file, external: true } : undefined
      })
    },
  }
}

/** Gives jose the Web Crypto of `src/auth`: Node.js 16 and 18 have no global `crypto`, and a library must not define one. */
const giveCrypto: Plugin = {
  name: 'give-crypto',
  setup(build) {
    build.onLoad({ filter: /[\\/]node_modules[\\/]jose[\\/].*\.js$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const source = JSON.stringify(resolve('src/auth/web-crypto.ts'))
      return { contents: /\bcrypto\./.test(text) ? `import { crypto } from ${source}\n${text}` : text }
    })
  },
}

/** A dependency imports `crypto`, but other runtimes know only `node:crypto`. */
const nameNodeModules: Plugin = {
  name: 'name-node-modules',
  setup(build) {
    build.onResolve({ filter: /^crypto$/ }, () => ({ path: 'node:crypto', external: true }))
  },
}

/** Writes the licences of the packages that are compiled in, such as jose. */
const terms = licenses('dist/LICENSES.txt')

const MAIN = ['src/index.ts', 'src/platform.node.ts', 'src/platform.web.ts']

/**
 * Returns the modules that several parts of the client share. They are put into one file: splitting would make a file for each
 * set of parts, and each file costs time when a process starts.
 */
async function sharedModules(): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: MAIN,
    bundle: true,
    splitting: true,
    metafile: true,
    write: false,
    outdir: 'dist',
    format: 'esm',
    platform: 'neutral',
    external: ['node:*', 'dset', '@lukeed/uuid'],
    plugins: [choosePlatform, giveCrypto],
  })
  return Object.entries(metafile.outputs)
    .filter(([path]) => basename(path).startsWith('chunk-'))
    .flatMap(([, { inputs }]) =>
      Object.keys(inputs).map((path) => relative('src', path).split(sep).join('/')),
    )
    .sort()
}

/** Returns the path of a module that exports all shared ones. */
function writeShared(names: readonly string[]): string {
  const folder = '.cache/build'
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    `${folder}/shared.ts`,
    names.map((name) => `export * from ${JSON.stringify(resolve('src', name))}\n`).join(''),
  )
  return `${folder}/shared.ts`
}

/**
 * Entries whose types use types of another package. That package may have different classes for ES modules and for CommonJS, so
 * these entries have declarations for both.
 */
const FOREIGN_TYPES: readonly string[] = ['msw']

/** Writes all other types once, for CommonJS: ES modules can import types of CommonJS, but not the other way round. */
async function shareTypes(): Promise<void> {
  for (const name of ['index', ...ENTRIES]) {
    if (FOREIGN_TYPES.includes(name)) continue
    const all = `export * from './${name}.cjs'\n`
    // An ES module sees all exports of a CommonJS module as its default, so the class is exported by its other name.
    const source = readFileSync(`src/${name}.ts`, 'utf8')
    const [, local] = /\b(\w+) as default\b/.exec(source) ?? []
    const [, alias = local] = new RegExp(`\\b${local} as (?!default\\b)(\\w+)`).exec(source) ?? []
    const main = local === undefined ? '' : `export { ${alias} as default } from './${name}.cjs'\n`
    writeFileSync(`dist/${name}.d.ts`, all + main)
  }
}

const common: Options = {
  target: 'node16',
  platform: 'neutral',
  external: [/^node:/, '#platform', 'msw'],
  // Other runtimes know the modules of Node.js only with the prefix `node:`.
  removeNodeProtocol: false,
}

function esm(entry: string[], esbuildPlugins: Plugin[]): Options {
  return {
    ...common,
    entry,
    format: 'esm',
    esbuildPlugins: [...esbuildPlugins, choosePlatform, giveCrypto, nameNodeModules, terms],
    esbuildOptions: setSyntax,
  }
}

/** Entries whose default export is what `require` returns, because users of the older libraries write it so. */
const CALLABLE: readonly string[] = ['src/compat.ts']
const exportDefault =
  'module.exports = Object.defineProperties(module.exports.default, Object.getOwnPropertyDescriptors(module.exports));'

/** Each entry is one file, because bundlers and users who copy the file rely on that. */
function commonJS(entry: string, esbuildPlugins: Plugin[]): Options {
  return {
    ...common,
    entry: [entry],
    format: 'cjs',
    esbuildPlugins: [...esbuildPlugins, giveCrypto, nameNodeModules, terms],
    esbuildOptions(options) {
      setSyntax(options)
      // `require` where the sources have `import()`: to `import` node:http, Node.js 22 needs WebAssembly.
      options.supported = { ...options.supported, 'dynamic-import': false }
      // Only with this platform does esbuild name the exports where Node.js and TypeScript look for them.
      options.platform = 'node'
      // esbuild leaves out the default export. This assignment is only read, and never executed.
      const footer = ['0 && (exports.default = 0);', ...(CALLABLE.includes(entry) ? [exportDefault] : [])]
      options.footer = { js: footer.join('\n') }
    },
  }
}

/** The output has one statement a line: it can be read, and stepped through in a debugger. */
function setSyntax(options: Parameters<NonNullable<Options['esbuildOptions']>>[0]): void {
  // Node.js 16.0 supports `?.` except before a private name, and the sources never use that form.
  options.supported = { 'optional-chain': true }
}

/** Left out with `--no-dts`: they take ten times as long as the code. */
const declarations: Options[] = [
  {
    entry: FOREIGN_TYPES.map((name) => `src/${name}.ts`),
    format: 'esm',
    dts: { only: true, compilerOptions: { stripInternal: true } },
  },
  {
    // In one build, so that all entries have the same `Context`.
    entry: ['index', ...ENTRIES].map((name) => `src/${name}.ts`),
    format: 'cjs',
    dts: {
      only: true,
      compilerOptions: { stripInternal: true },
      // Copied into the declarations, as the standard recommends, so that users need not install it.
      resolve: ['@standard-schema/spec'],
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
  },
]

export default defineConfig(async ({ dts }) => {
  // Not by `clean`: the builds run at the same time, and one could remove files that another one has written.
  rmSync('dist', { recursive: true, force: true })
  const shared = await sharedModules()
  return [
    {
      ...esm(MAIN, [importFrom('./shared.js', shared)]),
      onSuccess: shareTypes,
    },
    esm([writeShared(shared)], []),
    commonJS('src/index.ts', []),
    // Separate builds: otherwise shared code would be split off, and `import 'trackpost'` would load more files.
    ...ENTRIES.flatMap((name) => [
      esm([`src/${name}.ts`], [importFrom('./index.js', PUBLIC), importFrom('./shared.js', shared)]),
      commonJS(`src/${name}.ts`, [importFrom('./index.cjs', PUBLIC)]),
    ]),
    ...(dts === false ? [] : declarations),
  ]
})

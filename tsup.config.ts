import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve, sep } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { defineConfig, type Options } from 'tsup'
import { licenses } from './scripts/licenses.mjs'

/**
 * The entry points besides `trackpost` itself: `src/NAME.ts` becomes `trackpost/NAME`. A new one is added here, and in
 * `exports` and `typesVersions` of package.json; a test compares the three.
 */
export const ENTRIES: readonly string[] = ['node', 'plugins', 'scope', 'testing', 'msw', 'spool', 'compat']

/**
 * Modules with classes that users compare with (`instanceof`), and the client itself. They exist once, in the main
 * entry: the other entries import them from there, and of them only what is public.
 */
const PUBLIC = ['index.ts', 'analytics.ts', 'errors/errors.ts', 'pipeline/context.ts']

type OutputPlugin = NonNullable<Options['plugins']>[number]

/** Has webpack keep one file: what is loaded later stays where it is loaded from. Minifying takes comments away. */
const keepTogether: OutputPlugin = {
  name: 'keep-together',
  renderChunk: (code) => ({
    code: code.replace(/\bimport\((?=\s*"\.)/g, 'import(/* webpackMode: "eager" */'),
  }),
}

/** Has the runtime or the bundler choose the platform, wherever the sources have `x.node.ts`. */
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

/** Has modules imported from another file of the build, and not bundled. */
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

/**
 * Gives jose the Web Crypto of the platform in the place of the global one, which Node.js 16 and 18 do not have, and which is
 * not ours to make.
 */
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

/** A dependency names this module of Node.js as only Node.js knows it. */
const nameNodeModules: Plugin = {
  name: 'name-node-modules',
  setup(build) {
    build.onResolve({ filter: /^crypto$/ }, () => ({ path: 'node:crypto', external: true }))
  },
}

/** For what is compiled in of other packages: jose, `@lukeed/uuid` and dset. */
const terms = licenses('dist/LICENSES.txt')

/** What the client is made of: loaded at once, but for what it imports later. */
const MAIN = ['src/index.ts', 'src/platform.node.ts', 'src/platform.web.ts']

/**
 * The modules that several parts of the client share. Splitting would make a file for each set of parts; they are put
 * into one, because each file costs time when a process starts.
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

/** Writes the module that holds the shared ones, and returns its path. */
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
 * Entries with types of another package in theirs. That package may have other classes for ES modules than for CommonJS, so
 * there are declarations for each.
 */
const FOREIGN_TYPES: readonly string[] = ['msw']

/** The other types are written once, as those of CommonJS: ES modules can import them, and not the other way round. */
async function shareTypes(): Promise<void> {
  for (const name of ['index', ...ENTRIES]) {
    if (FOREIGN_TYPES.includes(name)) continue
    const all = `export * from './${name}.cjs'\n`
    // To an ES module the default of CommonJS is all of it: the class passes by its other name.
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
  // Runtimes other than Node.js know its modules by this prefix only.
  removeNodeProtocol: false,
}

function esm(entry: string[], esbuildPlugins: Plugin[]): Options {
  return {
    ...common,
    entry,
    format: 'esm',
    esbuildPlugins: [...esbuildPlugins, choosePlatform, giveCrypto, nameNodeModules, terms],
    plugins: [keepTogether],
    esbuildOptions: minify,
  }
}

/** One file, which bundlers and copies of it count on. */
function commonJS(entry: string, esbuildPlugins: Plugin[]): Options {
  return {
    ...common,
    entry: [entry],
    format: 'cjs',
    esbuildPlugins: [...esbuildPlugins, giveCrypto, nameNodeModules, terms],
    esbuildOptions(options) {
      minify(options)
      // `require` where the sources have `import()`: the module that Node.js 22 makes of node:http for `import` needs WebAssembly.
      options.supported = { ...options.supported, 'dynamic-import': false }
      // Only for this platform does esbuild name the exports where Node.js and TypeScript look for them.
      options.platform = 'node'
      // It leaves out the default export; never executed, only read.
      options.footer = { js: '0 && (exports.default = 0);' }
    },
  }
}

/** Names stay, and lines stay short: Node.js prints the whole line that an uncaught error was thrown from. */
function minify(options: Parameters<NonNullable<Options['esbuildOptions']>>[0]): void {
  options.minifyWhitespace = true
  options.minifySyntax = true
  options.lineLimit = 160
  // Node.js 16.0 lacks one form of it only, which the sources do not use: a private name behind `?.`.
  options.supported = { 'optional-chain': true }
}

/** With `WITHOUT_TYPES=1` the build leaves them out: they take ten times as long as the code. */
const declarations: Options[] = [
  {
    entry: FOREIGN_TYPES.map((name) => `src/${name}.ts`),
    format: 'esm',
    dts: { only: true, compilerOptions: { stripInternal: true } },
  },
  {
    // Together: a `Context` of one entry must be that of the others.
    entry: ['index', ...ENTRIES].map((name) => `src/${name}.ts`),
    format: 'cjs',
    dts: {
      only: true,
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
    },
  },
]

export default defineConfig(async () => {
  // Not by `clean`: they run at the same time, and none may remove what another one has just written.
  rmSync('dist', { recursive: true, force: true })
  const shared = await sharedModules()
  return [
    {
      ...esm(MAIN, [importFrom('./shared.js', shared)]),
      onSuccess: shareTypes,
    },
    esm([writeShared(shared)], []),
    commonJS('src/index.ts', []),
    // Each alone: what it shares with the main entry would be split off, and `import 'trackpost'` would load more files.
    ...ENTRIES.flatMap((name) => [
      esm([`src/${name}.ts`], [importFrom('./index.js', PUBLIC), importFrom('./shared.js', shared)]),
      commonJS(`src/${name}.ts`, [importFrom('./index.cjs', PUBLIC)]),
    ]),
    ...(process.env['WITHOUT_TYPES'] === '1' ? [] : declarations),
  ]
})

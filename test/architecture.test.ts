import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * The modules of a package from top to bottom, one list for each layer. A module is a folder or a file directly below
 * `src`. A file may import from its own module and from modules of lower layers, but not from another module of its
 * own layer. Imports of types count too.
 */
const LAYERS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  src: [
    ['index.ts', 'node.ts', 'compat.ts', 'msw.ts', 'plugins.ts', 'scope.ts', 'spool.ts', 'testing.ts'],
    ['testing', 'compat'],
    ['analytics.ts', 'combine.ts', 'platform.node.ts', 'platform.web.ts'],
    ['scope'],
    ['client'],
    ['delivery', 'spool', 'plugins'],
    ['auth'],
    ['settings'],
    ['line'],
    ['pipeline'],
    ['policy'],
    ['http', 'version.ts'],
    ['message'],
    ['errors'],
    ['runtime'],
  ],
  'collector/src': [
    ['index.ts', 'cli', 'conformance', 'ports.ts', 'sql.ts'],
    ['start.ts'],
    ['collector.ts'],
    ['backend.ts'],
    ['api'],
    ['router.ts', 'shared.ts'],
    ['options.ts', 'ingest'],
    ['destinations', 'open-store.ts'],
    ['handle.ts', 'auth'],
    ['assets.ts', 'faults', 'live', 'ops'],
    ['cluster.ts', 'trackpost-cluster.d.ts'],
    ['drivers.ts'],
    ['batch-sender.ts', 'workers', 'http', 'log'],
    ['store'],
    ['catalogue'],
    ['help.ts', 'limited.ts', 'config', 'plan', 'search'],
    [
      'clock.ts',
      'error-name.ts',
      'iso-time.ts',
      'json',
      'listeners.ts',
      'network-address.ts',
      'part-health.ts',
      'percent-decoding.ts',
      'plain-text.ts',
      'record.ts',
      'version.ts',
      'worker-url.ts',
    ],
  ],
  'cluster/src': [['index.ts'], ['clickhouse', 'nats', 'postgres'], ['log']],
  'collector/page/src': [['main.tsx'], ['app.tsx'], ['screens'], ['components'], ['lib']],
  'cli/src': [
    ['main.ts'],
    ['program.ts'],
    ['commands'],
    ['plan'],
    ['import'],
    ['doctor'],
    ['client.ts', 'settings', 'tail'],
    ['errors.ts', 'output', 'version.ts'],
  ],
}

/** Source files of other packages that a package may import and bundle. */
const FROM_OTHERS: Readonly<Record<string, RegExp>> = {
  src: /^$/,
  'collector/src': /^$/,
  'cluster/src': /^$/,
  'collector/page/src': /^collector\/src\/(?:json|log|record|store|search)\b/,
  'cli/src': /^collector\/src\/json\b/,
}

/** Modules that `src/index.ts` must not load, directly or through other files: they have entry points of their own. */
const OWN_ENTRIES = ['compat', 'plugins', 'scope', 'spool', 'testing']

interface Import {
  readonly from: string
  readonly to: string
  /** By `import()`: the file is loaded later, if at all. */
  readonly isDynamic: boolean
}

function importsOf(root: string): { files: string[]; imports: Import[]; foreign: string[] } {
  const files = readdirSync(join(ROOT, root), { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => /\.tsx?$/.test(path))
  const imports = files.flatMap((from) => {
    const text = readFileSync(join(ROOT, root, from), 'utf8')
    return ts
      .preProcessFile(text)
      .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
      .map(({ fileName, pos }) => ({
        from,
        to: normalize(join(dirname(from), fileName)).replaceAll('\\', '/'),
        isDynamic: /\bimport\(\s*(?:\/\*.*?\*\/\s*)?['"`]?$/.test(text.slice(0, pos)),
      }))
  })
  const foreign = imports.filter(({ to }) => to.startsWith('../')).map(({ to }) => normalize(join(root, to)))
  return { files, imports: imports.filter(({ to }) => files.includes(to)), foreign }
}

const moduleOf = (path: string): string => path.split('/')[0] ?? path

/** The import cycles, for example `b > c > b`. Dynamic imports do not count. */
function cyclesOf(files: readonly string[], imports: readonly Import[]): string[] {
  const done = new Set<string>()
  const found: string[] = []
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(' > '))
    if (way.includes(path) || done.has(path)) return
    for (const { from, to, isDynamic } of imports) {
      if (from === path && !isDynamic) visit(to, [...way, path])
    }
    done.add(path)
  }
  for (const file of files) visit(file, [])
  return found
}

describe.each(Object.entries(LAYERS))('%s', (root, layers) => {
  const { files, imports, foreign } = importsOf(root)
  const layerOf = (path: string): number => layers.findIndex((modules) => modules.includes(moduleOf(path)))

  test('every module is in one layer of the list, and every module of the list exists', () => {
    const modules = [...new Set(files.map(moduleOf))].sort()

    expect(modules).toEqual([...new Set(layers.flat())].sort())
    expect(layers.flat().length).toBe(modules.length)
  })

  test('a file imports only from its own module and from lower layers, types included', () => {
    const upwards = imports.filter(
      ({ from, to }) => moduleOf(from) !== moduleOf(to) && layerOf(from) >= layerOf(to),
    )

    expect(imports.length).toBeGreaterThan(files.length)
    expect(upwards.map(({ from, to }) => `${from} > ${to}`)).toEqual([])
  })

  test('imports only the agreed files of other packages', () => {
    expect(foreign.filter((path) => FROM_OTHERS[root]?.test(path.replaceAll('\\', '/')) !== true)).toEqual([])
  })

  test('there are no import cycles', () => {
    expect(cyclesOf(files, imports)).toEqual([])
  })
})

test('the main entry point imports no module that has an entry point of its own', () => {
  const { imports } = importsOf('src')
  const reached = new Set(['index.ts'])
  for (const file of reached) {
    for (const { from, to } of imports) if (from === file) reached.add(to)
  }

  expect(reached.size).toBeGreaterThan(50)
  expect([...reached].filter((path) => OWN_ENTRIES.includes(moduleOf(path)))).toEqual([])
})

test('the check finds an import cycle, but ignores dynamic imports', () => {
  const line = (from: string, to: string, isDynamic = false) => ({ from, to, isDynamic })

  expect(cyclesOf(['a', 'b', 'c'], [line('a', 'b'), line('b', 'c'), line('c', 'b')])).toEqual(['b > c > b'])
  expect(cyclesOf(['a', 'b'], [line('a', 'b'), line('b', 'a', true)])).toEqual([])
})

test('the client calls no built-in function that Node.js 16.0 lacks', () => {
  const newer = /\.at\(|\.findLast|\.toSorted\(|\.toReversed\(|\.hasIndices|Object\.(?:hasOwn|groupBy)\(|structuredClone\(|Array\.fromAsync|Promise\.withResolvers|AbortSignal\.(?:timeout|any|abort)\(/ // biome-ignore format: one pattern
  const { files } = importsOf('src')
  const calling = files.filter((file) => newer.test(readFileSync(join(ROOT, 'src', file), 'utf8')))

  expect(files.length).toBeGreaterThan(100)
  expect(calling).toEqual([])
})

// Writes the tables of the documents that repeat what other files say: error codes, local events, limits from the sources, sizes from
// .size-limit.mjs, and figures from bench/results.md, which `npm run bench` writes, and from docs/compared.md.
// Usage: `npm run tables`. A test fails when a table is out of date.
//
// In a document, a table stands between `<!-- table: name -->` and `<!-- end of table -->`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import sizes from '../.size-limit.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const read = (path) => readFileSync(join(ROOT, path), 'utf8')

/** The documents that may have tables. */
export const DOCUMENTS = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((path) => path.endsWith('.md'))

/** Rows of docs/compared.md whose figure for the SDK is the limit that `npm run size` checks. */
const SIZES = {
  'size in a bundle, minified and gzipped, KB': 'Node.js, loaded at once',
  'the same with code that is loaded later': 'Node.js, all in one file',
}

/** The document with its tables, and with the facts below each setting, as they are now. */
export async function withTables(text) {
  const { SETTINGS } = await importTypeScript('src/settings/schema.ts')
  return text
    .replace(/(<!-- table: ([\w-]+) -->\n)[\s\S]*?(\n<!-- end of table -->)/g, (_, start, name, end) => {
      if (TABLES[name] === undefined) throw new Error(`there is no table ${name}`)
      return `${start}\n${TABLES[name]()}\n${end}`
    })
    .replace(/^\| ([^|]+) \| [\d.]+ /gm, (all, row) => {
      const limit = sizes.find(({ name }) => name === SIZES[row])?.limit
      return limit === undefined ? all : `| ${row} | ${limit.replace(' kB', '')} `
    })
    .replace(/^(### `(\w+)`\n\n)\*\*.+ · .+\*\*$/gm, (all, heading, name) =>
      SETTINGS[name] === undefined ? all : `${heading}**${factsOf(name, SETTINGS[name])}**`,
    )
}

/** A module that imports nothing but types. */
async function importTypeScript(path) {
  const { code } = transformSync(read(path), { loader: 'ts', format: 'esm' })
  return import(`data:text/javascript,${encodeURIComponent(code)}`)
}

/** What is said of settings that have no default in `SETTINGS`; of the others, that they have none. */
const OTHER_DEFAULTS = {
  writeKey: 'required',
  host: "default the region's",
  httpClient: 'default depends on the runtime',
}

const grouped = (value) => value.toLocaleString('en-US')

/** Type, default and range of a setting. */
function factsOf(name, rule) {
  if (rule.type === 'integer') {
    const range = `${grouped(rule.min)} to ${grouped(rule.max)} ${rule.unit}`
    return `Integer · default ${grouped(rule.default)} · ${range}`
  }
  if (rule.type === 'choice') {
    return `${rule.choices.map((choice) => `\`'${choice}'\``).join(' | ')} · default \`'${rule.default}'\``
  }
  const own = rule.default === undefined ? 'no default' : `default \`${rule.default}\``
  const fallback = OTHER_DEFAULTS[name] ?? own
  const type = rule.type.charAt(0).toUpperCase() + rule.type.slice(1)
  return `${type} · ${fallback}${name === 'writeKey' ? ' · 1 to 1,024 characters' : ''}`
}

/** Limits that no setting changes: what they limit, where they are declared, and how their value is written. */
const LIMITS = [
  ['time for each handler, `load` and `unload` of a plugin', 'PLUGIN_TIMEOUT_MS', seconds],
  ['wait between two retries', 'MAX_BACKOFF_MS', seconds],
  ['wait that a response can ask for', 'MAX_WAIT_MS', seconds],
  ['bytes that are read of a response', 'MAX_RESPONSE_BYTES', grouped],
  ['bytes of a response in errors and events', 'EXCERPT_BYTES', grouped],
  ['time of `closeAndFlush()` without a `timeout`', 'CLOSE_TIMEOUT_MS', seconds],
  ['time of `closeOn` without a `timeout`', 'CLOSE_ON_TIMEOUT_MS', seconds],
  ['lifetime of an assertion of OAuth', 'ASSERTION_S', (value) => `${value} s`],
  ['bits of a private key, at least', 'MIN_BITS', grouped],
  ['messages of a file of the spool', 'MAX_FILE_MESSAGES', grouped],
  ['time until files of the spool are synced', 'SYNC_MS', seconds],
]

function seconds(ms) {
  return `${grouped(ms / 1_000)} s`
}

/** The value of the one constant of this name in the sources. */
function constant(name) {
  const pattern = new RegExp(`^(?:export )?const ${name} = ([\\d_]+)$`, 'm')
  const files = readdirSync(join(ROOT, 'src'), { recursive: true }).filter((file) => file.endsWith('.ts'))
  const values = files.flatMap((file) => pattern.exec(read(`src/${file}`))?.[1] ?? [])
  if (values.length !== 1)
    throw new Error(`${name}: expected one constant in the sources, found ${values.length}`)
  return Number(values[0].replaceAll('_', ''))
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}

/** The text of a docstring in one line, with links as code. */
function plain(docstring) {
  return docstring
    .replace(/^\s*\*? ?/gm, '')
    .replaceAll('\n', ' ')
    .replace(/\{@link (\w+)\}/g, '`$1`')
    .replaceAll('|', '\\|')
    .trim()
}

function cellsOf(line) {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())
}

/** The rows of a table, each a list of cells, below a heading of a document. */
function rowsOf(path, heading) {
  const section = read(path)
    .split(/^## /m)
    .find((one) => one.startsWith(`${heading}\n`))
  return (section ?? '')
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map(cellsOf)
}

const PACKAGES = {
  trackpost: 'trackpost',
  segment: '@segment/analytics-node',
  posthog: 'posthog-node',
  rudderstack: '@rudderstack/rudder-sdk-node',
}

const NAMES = Object.values(PACKAGES).map((name) => `\`${name}\``)

/** A row of docs/compared.md for the clients of `PACKAGES`. */
function comparedRow(text) {
  const lines = read('docs/compared.md').split('\n')
  const line = lines.find((one) => one.startsWith(`| ${text} |`))
  if (line === undefined) throw new Error(`docs/compared.md has no row "${text}"`)
  return cellsOf(line).slice(0, NAMES.length + 1)
}

/** A row with a figure of each client from bench/results.md. Of two columns with this title, `last` takes the second. */
function figures(text, scenario, column, format = (value) => value, last = false) {
  const [titles = [], ...rows] = rowsOf('bench/results.md', scenario)
  const index = last ? titles.lastIndexOf(column) : titles.indexOf(column)
  const figureOf = (client) => rows.find(([label]) => label === client)?.[index]
  const values = Object.keys(PACKAGES).map(figureOf)
  if (values[0] === undefined) throw new Error(`bench/results.md has no ${column} in ${scenario}`)
  return [text, ...values.map((value) => (value === undefined ? '-' : format(value)))]
}

const roundedMs = (value) =>
  String(Number(value) >= 100 ? Math.round(Number(value)) : Number(value).toFixed(2))

const TABLES = {
  limits: () =>
    table(
      ['limit', 'value'],
      LIMITS.map(([text, name, format]) => [text, format(constant(name))]),
    ),
  codes: () => {
    const source = read('src/errors/errors.ts')
    const [, docstring = ''] = /\/\*\*([\s\S]*?)\*\/\nexport type FailureCode/.exec(source) ?? []
    const rows = [...docstring.matchAll(/^ \* - `(\w+)`: ([\s\S]*?)(?=\n \* - |\n \*\n|$(?![\s\S]))/gm)]
    return table(
      ['code', 'why'],
      rows.map(([, code, text]) => [`[\`${code}\`](#${code})`, plain(text)]),
    )
  },
  events: () => {
    const [, body = ''] =
      /export interface AnalyticsEvents \{\n([\s\S]*?)\n\}/.exec(read('src/events/events.ts')) ?? []
    const events = [...body.matchAll(/\/\*\*([\s\S]*?)\*\/\s+(\w+): \[(.*)\]/g)]
    return table(
      ['event', 'listeners get', 'when'],
      events.map(([, text, name, type]) => [
        `\`${name}\``,
        type === '' ? 'nothing' : `\`${type}\``,
        plain(text),
      ]),
    )
  },
  dependencies: () =>
    table(
      ['package', 'Node.js', 'dependencies'],
      JSON.parse(read('package.json')).workspaces.map((folder) => {
        const {
          name,
          engines,
          dependencies = {},
          peerDependencies = {},
          peerDependenciesMeta = {},
        } = JSON.parse(read(join(folder, 'package.json')))
        const peers = Object.keys(peerDependencies).filter((one) => !peerDependenciesMeta[one]?.optional)
        const needed = [...Object.keys(dependencies), ...peers].map((one) => `\`${one}\``)
        return [`\`${name}\``, `${engines.node.replace('>=', '')} or later`, needed.join(', ') || 'none']
      }),
    ),
  'benchmark-home': () =>
    table(
      ['', ...NAMES],
      [
        'good events that arrive, if the service refuses a batch of ten because of one bad event (400)',
        'an object that your code changes after the call',
        'packages installed',
        'CPU per event in a burst of 20,000 calls, as a multiple of a hand-written `POST`',
        'median time until the outcome of one event, ms',
      ].map(comparedRow),
    ),
  'benchmark-costs': () =>
    table(
      ['', ...NAMES],
      [
        figures(
          'CPU per event in a burst of 20,000 calls, as a multiple of a hand-written `POST`',
          'burst',
          'x floor',
        ),
        figures('the same with default settings', 'default', 'x floor'),
        figures('the same without a warm-up: the first 20,000 events of a process', 'first', 'x floor'),
        figures('CPU per event, 2,000 calls a second', 'paced', 'x floor'),
        figures('growth of memory in the burst', 'burst', 'x floor', undefined, true),
        figures('CPU of a process that sends three events', 'cold', 'x floor'),
        figures('median time until the outcome of one event, ms', 'confirm', 'p50 ms', roundedMs),
        figures('memory for 10,000 waiting events, MB', 'waiting', 'RSS MB', (value) =>
          String(Math.round(value)),
        ),
        figures('events lost in a burst of 20,000, with default settings', 'default', 'arrived', (value) =>
          value === 'all' ? 'none' : value.replace(/ lost of.*/, ''),
        ),
      ],
    ),
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const path of DOCUMENTS) {
    const text = read(path)
    const written = await withTables(text)
    if (written !== text) {
      writeFileSync(join(ROOT, path), written)
      console.log(path)
    }
  }
}

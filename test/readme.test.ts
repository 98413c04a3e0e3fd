import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { FAILURE_CODES } from '../src/errors/errors.ts'
import { type Rule, SETTINGS } from '../src/settings/schema.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** Each setting of docs/settings.md: the facts in its bold line, and the text below. */
const documented = new Map(
  [...read('docs/settings.md').matchAll(/^### `(\w+)`\n\n\*\*(.+)\*\*\n\n([^#]+)/gm)].map(
    ([, name = '', facts = '', text = '']) => [name, { facts, text: text.trim() }],
  ),
)

test('docs/settings.md contains each of the SETTINGS once, and no others', () => {
  const names = [...read('docs/settings.md').matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name)

  expect([...names].sort()).toEqual(Object.keys(SETTINGS).sort())
  expect([...documented.keys()]).toEqual(names)
})

/**
 * The text in docs/settings.md for settings without a default value in `SETTINGS`: they are required or optional, or
 * their default depends on the region or the runtime.
 */
const OTHER_DEFAULTS: Record<string, string> = {
  writeKey: 'required',
  host: "default the region's",
  headers: 'no default',
  logger: 'no default',
  httpClient: 'default depends on the runtime',
  oauthSettings: 'no default',
  scope: 'no default',
  spool: 'no default',
  waitUntil: 'no default',
}

const grouped = (value: number): string => value.toLocaleString('en-US')

/** Type, default and range in the form of the bold line of a setting. */
function factsOf(name: string, rule: Rule): string {
  if (rule.type === 'integer') {
    const range = `${grouped(rule.min)} to ${grouped(rule.max)} ${rule.unit}`
    return `Integer · default ${grouped(rule.default)} · ${range}`
  }
  if (rule.type === 'choice') {
    return `${rule.choices.map((choice) => `\`'${choice}'\``).join(' | ')} · default \`'${rule.default}'\``
  }
  const fallback = OTHER_DEFAULTS[name] ?? `default \`${rule.default}\``
  const type = rule.type.charAt(0).toUpperCase() + rule.type.slice(1)
  return `${type} · ${fallback}${name === 'writeKey' ? ' · 1 to 1,024 characters' : ''}`
}

test.each(Object.entries(SETTINGS))(
  'docs/settings.md gives type, default, range and unit of %s, and explains it',
  (name, rule: Rule) => {
    expect(documented.get(name)?.facts).toBe(factsOf(name, rule))
    expect(documented.get(name)?.text).not.toBe('')
  },
)

test('docs/errors.md contains every failure code, in the order of FAILURE_CODES', () => {
  const codes = [...read('docs/errors.md').matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code)

  expect(codes).toEqual([...FAILURE_CODES])
})

describe('the README', () => {
  const readme = read('README.md')

  test('links to every guide', () => {
    const reference = ['index', 'spec', 'faults'].map((name) => `${name}.md`)
    const guides = readdirSync(new URL('../docs', import.meta.url)).filter(
      (name) => name.endsWith('.md') && !reference.includes(name),
    )

    expect(guides.length).toBeGreaterThan(10)
    expect(guides.filter((name) => !readme.includes(`(./docs/${name}`))).toEqual([])
  })

  test('names only versions of runtimes that the tests use', () => {
    const runtimes = Object.values(JSON.parse(read('scripts/runtimes.json'))).flatMap((one) =>
      JSON.stringify(one),
    )

    const versions = [...readme.matchAll(/(?<![\d.])(\d+\.\d+\.\d+)(?![\d.])/g)].map(
      ([, version]) => version as string,
    )

    expect(versions.length).toBeGreaterThan(6)
    expect(versions.filter((version) => !runtimes.some((one) => one.includes(version)))).toEqual([])
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { FAILURE_CODES } from '../src/errors/errors.ts'
import { type Rule, SETTINGS } from '../src/settings/schema.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** The rows of the first table of a document, as trimmed cells without their code marks. */
function tableOf(path: string): string[][] {
  const table = /^\|.*\n\|[-|]+\n(?:\|.*\n)*/m.exec(read(path))?.[0] ?? ''
  const rows = table.trim().split('\n')
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test('the table of docs/settings.md has every setting of the code, in its order, and no other', () => {
  const documented = tableOf('docs/settings.md').map(([name]) => name)

  expect(documented).toEqual(Object.keys(SETTINGS))
})

/** Defaults that are not a value of the table: what is required, what the region decides, and what is optional. */
const OTHER_DEFAULTS: Record<string, string> = {
  writeKey: 'required',
  host: "the region's",
  headers: 'none',
  logger: 'none',
  httpClient: 'global fetch',
  oauthSettings: 'none',
  scope: 'none',
  spool: 'none',
  waitUntil: 'none',
}

const grouped = (value: number): string => value.toLocaleString('en-US')

/** Type, default and range as the table has them. */
function documentationOf(name: string, rule: Rule): string[] {
  if (rule.type === 'integer') {
    return ['integer', grouped(rule.default), `${grouped(rule.min)} to ${grouped(rule.max)} ${rule.unit}`]
  }
  if (rule.type === 'choice') {
    return [rule.choices.map((choice) => `'${choice}'`).join(' \\| '), `'${rule.default}'`, '']
  }
  return [
    rule.type,
    String(rule.default ?? OTHER_DEFAULTS[name]),
    name === 'writeKey' ? '1 to 1,024 characters' : '',
  ]
}

test.each(Object.entries(SETTINGS))(
  'docs/settings.md gives type, default, range and unit of %s',
  (name, rule: Rule) => {
    const row = tableOf('docs/settings.md').find(([documented]) => documented === name)

    expect(row?.slice(1, 4)).toEqual(documentationOf(name, rule))
    expect(row?.[4]).not.toBe('')
  },
)

test('the table of docs/errors.md has every code, in the order of the code', () => {
  expect(tableOf('docs/errors.md').map(([code]) => code)).toEqual([...FAILURE_CODES])
})

describe('the README', () => {
  const readme = read('README.md')

  test('is one page', () => {
    expect(readme.split('\n').length).toBeLessThanOrEqual(150)
  })

  test('leads to every guide', () => {
    const reference = ['index', 'spec', 'faults', 'mutation'].map((name) => `${name}.md`)
    const guides = readdirSync(new URL('../docs', import.meta.url)).filter(
      (name) => name.endsWith('.md') && !reference.includes(name),
    )

    expect(guides.length).toBeGreaterThan(10)
    expect(guides.filter((name) => !readme.includes(`(./docs/${name}`))).toEqual([])
  })

  test('names the runtimes that the tests run on', () => {
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

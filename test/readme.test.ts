import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAILURE_CODES } from '../src/errors/errors.ts'
import { type Rule, SETTINGS } from '../src/settings/schema.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

/** The rows of the table below a heading, as trimmed cells without their code marks. */
function tableBelow(heading: string): string[][] {
  const section = readme.slice(readme.indexOf(`\n## ${heading}\n`)).split('\n## ')[1] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((row) =>
    row
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

test('the settings table of the README has every setting of the code, in its order, and no other', () => {
  const documented = tableBelow('Settings').map(([name]) => name)

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

/** Type, default and range as the table of the README has them. */
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
  'the README gives type, default, range and unit of %s',
  (name, rule: Rule) => {
    const row = tableBelow('Settings').find(([documented]) => documented === name)

    expect(row?.slice(1, 4)).toEqual(documentationOf(name, rule))
    expect(row?.[4]).not.toBe('')
  },
)

test('the errors table of the README has every code, in the order of the code', () => {
  expect(tableBelow('Errors').map(([code]) => code)).toEqual([...FAILURE_CODES])
})

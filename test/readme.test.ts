import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FAILURE_CODES } from '../src/errors/errors.ts'
import { CHOICES, NUMBERS, SETTING_NAMES, SWITCHES, TEXTS } from '../src/settings.ts'

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

const settings = new Map(
  tableBelow('Settings').map(([name = '', type, fallback]) => [name, { type, fallback }]),
)

test('the settings table of the README has every setting of the code and no other', () => {
  const documented = [...settings.keys()].sort()

  expect(documented).toEqual(SETTING_NAMES.filter((name) => name !== 'maxEventsInBatch').sort())
})

test.each(Object.entries(NUMBERS))('the README gives the default of %s', (name, { default: value, unit }) => {
  const row = settings.get(name)

  expect(row?.fallback).toBe(String(value))
  expect(['integer', unit]).toContain(row?.type)
})

test.each(Object.entries(CHOICES))(
  'the README gives the choices of %s, the default first',
  (name, choices) => {
    const row = settings.get(name)

    expect(row?.type).toBe(choices.map((choice) => `'${choice}'`).join(' \\| '))
    expect(row?.fallback).toBe(`'${choices[0]}'`)
  },
)

test.each(SWITCHES)('the README says that %s is off by default', (name) => {
  expect(settings.get(name)).toEqual({ type: 'boolean', fallback: 'false' })
})

test.each(Object.entries(TEXTS))('the README gives the default of %s', (name, value) => {
  expect(settings.get(name)?.fallback).toBe(value)
})

test('the errors table of the README has every code, in the order of the code', () => {
  expect(tableBelow('Errors').map(([code]) => code)).toEqual([...FAILURE_CODES])
})

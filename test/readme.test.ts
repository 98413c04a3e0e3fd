import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { DOCUMENTS, withTables } from '../scripts/write-tables.mjs'
import { FAILURE_CODES } from '../src/errors/errors.ts'
import { SETTINGS } from '../src/settings/schema.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

/** Each setting of docs/settings.md, with the text below its bold line. */
const documented = new Map(
  [...read('docs/settings.md').matchAll(/^### `(\w+)`\n\n\*\*.+\*\*\n\n([^#]+)/gm)].map(
    ([, name = '', text = '']) => [name, text.trim()],
  ),
)

test('docs/settings.md explains each of the SETTINGS once, and no others', () => {
  const names = [...read('docs/settings.md').matchAll(/^### `(\w+)`$/gm)].map(([, name]) => name)

  expect([...names].sort()).toEqual(Object.keys(SETTINGS).sort())
  expect([...documented.keys()]).toEqual(names)
  expect([...documented].filter(([, text]) => text === '')).toEqual([])
})

test.each(DOCUMENTS)(
  '%s: its tables are those that `npm run tables` makes of the sources and the benchmark',
  async (path) => {
    expect(await withTables(read(path))).toBe(read(path))
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
})

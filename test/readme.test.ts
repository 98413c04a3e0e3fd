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

const CODE_LISTS: [name: string, path: string, code: RegExp][] = [
  ['docs/errors.md, its table', 'docs/errors.md', /^\| \[`(\w+)`\]/gm],
  ['docs/errors.md, its sections', 'docs/errors.md', /^### `(\w+)`$/gm],
  ['docs/spec.md, section 6', 'docs/spec.md', /(?<=closed list of stable codes:[^.]*)`(\w+)`/g],
]

test.each(CODE_LISTS)('%s: every failure code, in the order of FAILURE_CODES', (_, path, code) => {
  expect([...read(path).matchAll(code)].map(([, found]) => found)).toEqual([...FAILURE_CODES])
})

test('the picture in docs/delivery.md contains every failure code', () => {
  const codes = read('docs/images/event-life.svg').matchAll(/class="c">(\w+)</g)

  expect(new Set([...codes].map(([, code]) => code))).toEqual(new Set(FAILURE_CODES))
})

describe('the README', () => {
  const readme = read('README.md')

  test('links to every guide', () => {
    const reference = ['index', 'spec'].map((name) => `${name}.md`)
    const guides = readdirSync(new URL('../docs', import.meta.url)).filter(
      (name) => name.endsWith('.md') && !reference.includes(name),
    )

    expect(guides.length).toBeGreaterThan(10)
    expect(guides.filter((name) => !readme.includes(`(./docs/${name}`))).toEqual([])
  })
})

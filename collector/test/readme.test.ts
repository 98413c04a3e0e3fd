import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseConfig } from '../src/config/load.ts'
import { configSchema } from '../src/config/schema.ts'
import { REASONS, TEXT_FIELDS, TEXT_NAMES } from '../src/record.ts'

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const readme = readFileSync(path('README.md'), 'utf8')

test('the config file in the README is valid, and shows every setting except OAuth', () => {
  const json = JSON.parse(/```json\n([\s\S]*?)```/.exec(readme)?.[1] ?? '')

  parseConfig(json, 'README.md')
  expect([...Object.keys(json), 'oauth'].sort()).toEqual(Object.keys(configSchema.shape).sort())
})

test('the README lists every option of the command line, with its default', () => {
  const help = execFileSync(process.execPath, [path('bin/trackpost-collector.js'), '--help'], {
    encoding: 'utf8',
  })
  const inHelp = [...help.matchAll(/^ {2}(?:-h, )?(--[a-z-]+)/gm)].map(([, option]) => option)
  const inReadme = [...readme.matchAll(/^\| `(--[a-z-]+)/gm)].map(([, option]) => option)

  expect(inReadme.sort()).toEqual(inHelp.sort())
  const lines = help.replace(/\n {8,}/g, ' ')
  for (const [, option, text] of lines.matchAll(/^ {2}(--[a-z-]+).*default: ([^,]+), env/gm)) {
    const row = readme
      .split('\n')
      .find((line) => line.startsWith(`| \`${option}`))
      ?.replace(/ +/g, ' ')
    expect(row).toContain(`| ${text} |`)
  }
})

test('the README lists every reason for which an event is not accepted although its request gets 200', () => {
  const answered = Object.keys(REASONS)
  const accepted = answered.slice(0, answered.indexOf('bad_content_type'))

  for (const reason of accepted) expect(readme).toContain(`\`${reason}\``)
})

test.each([
  ['the filter', 'README.md', 'A filter has', TEXT_NAMES],
  ['a record', 'README.md', '{ id, seq,', TEXT_NAMES],
  [
    'the fields of a search',
    'docs/api.md',
    '| field | meaning',
    Object.values(TEXT_FIELDS).map((one) => `\`${one}\``),
  ],
  ['a summary', 'docs/api.md', '"seq": 17, "request": "9", "receivedAt": "..."', TEXT_NAMES],
  ['the parameters that filter', 'docs/api.md', 'These parameters filter too', TEXT_NAMES],
  ['CSV', 'docs/api.md', 'CSV has the columns `id, receivedAt', TEXT_NAMES],
])('%s in %s: every text of an event', (_, file, beginning, texts) => {
  const blocks = readFileSync(path(file), 'utf8').split('\n\n')
  const block = blocks.find((one) => one.includes(beginning)) ?? ''

  expect(texts.filter((one) => !block.includes(one))).toEqual([])
})

test('the files that the README links to exist', () => {
  for (const [, file] of readme.matchAll(/\]\((?!http)([^)]+)\)/g))
    expect(existsSync(path(file ?? ''))).toBe(true)
})

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { asCurl, requestOf } from '../../page/src/lib/as-code.ts'
import { compare, pathKey } from '../../page/src/lib/diff.ts'
import { ago, bytes, duration, share } from '../../page/src/lib/format.ts'
import { quoted, termFor } from '../../page/src/lib/search-line.ts'
import { visibleText } from '../../page/src/lib/visible-text.ts'

test('a value is quoted if it would be parsed as something else', () => {
  expect(quoted('zoë-12')).toBe('zoë-12')
  expect(quoted('ada@example.com')).toBe('ada@example.com')
  expect(quoted('Order Completed')).toBe('"Order Completed"')
  expect(quoted('say "hi" \\ there')).toBe('"say \\"hi\\" \\\\ there"')
  for (const text of ['12', '-1.5', 'true', 'null', 'OR', 'a,b', 'a*', 'a:b', '-a', '(', ''])
    expect(quoted(text)).toBe(`"${text}"`)
  expect(termFor('properties.total', 5)).toBe('properties.total:5')
  expect(termFor('properties.total', '5')).toBe('properties.total:"5"')
})

test('a comparison lists the topmost values that differ, and ignores the order of the keys', () => {
  const before = { a: 1, b: { c: [1, 2], d: 'x' }, gone: { e: 1 } }
  const after = { b: { d: 'x', c: [1, 3, 4] }, a: '1', fresh: { f: 1 } }
  expect(Object.fromEntries(compare(before, after))).toEqual({
    [pathKey(['a'])]: { kind: 'changed', was: 1 },
    [pathKey(['b', 'c', 1])]: { kind: 'changed', was: 2 },
    [pathKey(['b', 'c', 2])]: { kind: 'added' },
    [pathKey(['fresh'])]: { kind: 'added' },
    [pathKey(['gone'])]: { kind: 'removed', was: { e: 1 } },
  })
  expect(compare(before, structuredClone(before)).size).toBe(0)
})

test('a key named like a part of the prototype is compared like any other', () => {
  const changes = compare(JSON.parse('{"__proto__": 1, "constructor": 1}'), JSON.parse('{"__proto__": 2}'))
  expect([...changes.keys()]).toEqual([pathKey(['__proto__']), pathKey(['constructor'])])
})

test('invisible characters are replaced by their codes, and visible ones are unchanged', () => {
  expect(visibleText('ltr \u202eedirrevo')).toBe('ltr ⟨U+202E⟩edirrevo')
  expect(visibleText('a\u0000b\u001bc')).toBe('a⟨U+0000⟩b⟨U+001B⟩c')
  expect(visibleText('\ud800')).toBe('⟨U+D800⟩')
  expect(visibleText('a\u200bb\ufeff')).toBe('a⟨U+200B⟩b⟨U+FEFF⟩')
  const fine = 'zoë 👩‍👩‍👧 שלום, line\nand\ttab'
  expect(visibleText(fine)).toBe(fine)
})

test('rounded numbers never make a false claim, such as 100% for less than the whole', () => {
  expect([share(1, 1000), share(999, 1000), share(51, 100), share(0, 9), share(3, 3)]).toEqual([
    '<1%',
    '>99%',
    '51%',
    '0%',
    '100%',
  ])
  expect([duration(0.42), duration(12), duration(3200), duration(65_000), duration(7_200_000)]).toEqual([
    '0.42 ms',
    '12 ms',
    '3.2 s',
    '1 min',
    '2 h',
  ])
  expect([bytes(512), bytes(1536)]).toEqual(['512 B', '1.5 KB'])
  expect(ago('2026-05-17T09:30:00Z', Date.parse('2026-05-17T09:30:59Z'))).toBe('59 s ago')
})

const nasty = {
  type: 'track',
  userId: "o'brien",
  event: '$(id) `id` "quoted" \\ \u202e',
  properties: JSON.parse('{"note":"it\'s; rm -rf /\\nsecond line","a-b":1,"__proto__":{"x":1}}'),
  integrations: {},
  context: { library: { name: 'trackpost', version: '1.0.0' } },
  timestamp: "2026-05-17') + throwing('",
  receivedAt: '2026-05-17T09:30:01.000Z',
}

test('the shell passes any message to curl unchanged', () => {
  const command = asCurl(requestOf(nasty), 'http://127.0.0.1:8787')
  // The shell prints the arguments that curl would get.
  const script = command.replace(/^curl/, 'printf "%s\\\\0"')
  const printed = execFileSync('sh', ['-c', script], { env: { TRACKPOST_WRITE_KEY: 'k' }, encoding: 'utf8' })
  const given = printed.split('\0')
  expect(given.slice(0, 6)).toEqual(['-X', 'POST', '-u', 'k:', '-H', 'Content-Type: application/json'])
  expect(JSON.parse(given[7] ?? '')).toEqual(nasty)
  expect(given[8]).toBe('http://127.0.0.1:8787/v1/track')
  expect(command).not.toContain('\u202e')
})

import { expect, test } from 'vitest'
import { scanJson } from '../src/ingest/scan-json.ts'

/** The texts of the items that the scan finds. */
function itemsOf(json: string): string[] {
  const bytes = Buffer.from(json)
  return scanJson(bytes, 64).items.map(({ start, end }) => bytes.subarray(start, end).toString())
}

test.each([
  ['{"batch":[]}', []],
  ['{"batch":[ ]}', []],
  ['{"batch":[1]}', ['1']],
  ['{"batch":[ {"a":[1,2]} ,\n"x", null ]}', ['{"a":[1,2]}', '"x"', 'null']],
  ['{"batch":[{"q":"\\"],["},{"q":"\\\\"}]}', ['{"q":"\\"],["}', '{"q":"\\\\"}']],
  ['{"batch":["ö,\u20ac"]}', ['"ö,\u20ac"']],
  ['{"a":{"batch":[1]},"batch":[2]}', ['2']],
  ['{"a":"batch","b":[1]}', []],
  ['{"batch":[1],"batch":[2,3]}', ['2', '3']],
  ['{"\\u0062atch":[1]}', ['1']],
  ['["batch",[1,2]]', []],
  ['{"batch":{"0":[1]}}', []],
])('the items of %s are %j', (json, items) => {
  expect(itemsOf(json)).toEqual(items)
})

test('depth is counted outside of strings, and only as far as it matters', () => {
  const isTooDeep = (json: string) => scanJson(Buffer.from(json), 3).isTooDeep

  expect(isTooDeep('[[["[[["]]]')).toBe(false)
  expect(isTooDeep('[[[]],[[]],{"a":{}}]')).toBe(false)
  expect(isTooDeep('[[{"a":[]}]]')).toBe(true)
})

test('whatever the bytes are, the scan ends', () => {
  for (const text of ['', '"', '"\\', ']]]]', '{"batch":[', '{"batch":["', '{"batch":[1', ',,,', '}{']) {
    expect(() => scanJson(Buffer.from(text), 64)).not.toThrow()
  }
})

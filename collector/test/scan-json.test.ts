import { expect, test } from 'vitest'
import { scanJson } from '../src/json/scan-json.ts'

const limits = { maxDepth: 64, maxItems: 1000, maxItemBytes: 32_768 }

function itemsOf(json: string): string[] {
  const bytes = Buffer.from(json)
  return scanJson(bytes, limits).items.map(({ start, end }) => bytes.subarray(start, end).toString())
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

test('items beyond the limit are counted, and large ones among them are found too', () => {
  const bytes = Buffer.from('{"batch":[1,"12345",3,"1234567",5]}')

  const { items, itemCount, largeItems } = scanJson(bytes, { maxDepth: 64, maxItems: 2, maxItemBytes: 6 })

  expect(items).toHaveLength(2)
  expect(itemCount).toBe(5)
  expect([...largeItems].map(([index, { start }]) => [index, start])).toEqual([
    [1, 12],
    [3, 22],
  ])
})

test('depth is counted outside strings, and only up to the limit', () => {
  const tooDeepAt = (json: string) => scanJson(Buffer.from(json), { ...limits, maxDepth: 3 }).tooDeepAt

  expect(tooDeepAt('[[["[[["]]]')).toBeUndefined()
  expect(tooDeepAt('[[[]],[[]],{"a":{}}]')).toBeUndefined()
  expect(tooDeepAt('[[{"a":[]}]]')).toBe(7)
})

test('the scan ends for any bytes', () => {
  for (const text of ['', '"', '"\\', ']]]]', '{"batch":[', '{"batch":["', '{"batch":[1', ',,,', '}{']) {
    expect(() => scanJson(Buffer.from(text), limits)).not.toThrow()
  }
})

import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'

/** The module as it comes up in a runtime with `Buffer`, and in one without. */
async function load(hasBuffer: boolean): Promise<(text: string) => number> {
  const { Buffer } = globalThis
  vi.resetModules()
  if (!hasBuffer) vi.stubGlobal('Buffer', undefined)
  const { byteLength } = await import('../../src/message/byte-length.ts')
  vi.stubGlobal('Buffer', Buffer)
  return byteLength
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe.each([
  { runtime: 'with Buffer', hasBuffer: true },
  { runtime: 'without Buffer', hasBuffer: false },
])('in a runtime $runtime', ({ hasBuffer }) => {
  test.each([
    ['nothing', '', 0],
    ['ASCII', 'cafe', 4],
    ['an accent', 'café', 5],
    ['a currency sign', '12 €', 6],
    ['CJK', '東京', 6],
    ['an emoji', '🍰', 4],
    ['a family of four joined by ZWJ', '👨‍👩‍👧‍👦', 25],
    ['a combining accent', 'e\u0301', 3],
    ['a lone high surrogate, sent as U+FFFD', '\ud83c', 3],
    ['a lone low surrogate, sent as U+FFFD', '\udf70', 3],
    ['surrogates in the wrong order', '\udf70\ud83c', 6],
  ])('%s is counted exactly', async (_label, text, bytes) => {
    const byteLength = await load(hasBuffer)

    expect(byteLength(text)).toBe(bytes)
  })

  test('any text has the length of its UTF-8 bytes', async () => {
    const byteLength = await load(hasBuffer)
    const anyText = fc.string({ unit: 'binary', maxLength: 200 })
    const anyUnits = fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 })
      .map((units) => String.fromCharCode(...units))

    fc.assert(
      fc.property(fc.oneof(anyText, anyUnits), (text) => {
        expect(byteLength(text)).toBe(Buffer.from(text, 'utf8').length)
      }),
      { numRuns: 500 },
    )
  })
})

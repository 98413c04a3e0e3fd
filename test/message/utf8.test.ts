import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'

/** Loads the module as in a runtime with or without `Buffer`. */
async function load(hasBuffer: boolean): Promise<typeof import('../../src/message/utf8.ts')> {
  const { Buffer } = globalThis
  vi.resetModules()
  if (!hasBuffer) vi.stubGlobal('Buffer', undefined)
  const utf8 = await import('../../src/message/utf8.ts')
  vi.stubGlobal('Buffer', Buffer)
  return utf8
}

afterEach(() => {
  vi.unstubAllGlobals()
})

describe.each([
  { runtime: 'with Buffer', hasBuffer: true },
  { runtime: 'without Buffer', hasBuffer: false },
])('in a runtime $runtime', ({ hasBuffer }) => {
  test('the length of any text is its number of UTF-8 bytes', async () => {
    const { byteLength } = await load(hasBuffer)
    const anyText = fc.string({ unit: 'binary', maxLength: 200 })
    const anyUnits = fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 100 })
      .map((units) => String.fromCharCode(...units))

    fc.assert(
      fc.property(fc.oneof(anyText, anyUnits), (text) => {
        expect(byteLength(text)).toBe(Buffer.from(text, 'utf8').length)
      }),
      { numRuns: 200 },
    )
  })

  test('text that was written to an array of bytes can be read from its place', async () => {
    const { allocate, byteLength, read } = await load(hasBuffer)

    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.nat({ max: 50 }), (text, at) => {
        const target = allocate(at + byteLength(text) + 3)
        target.fill(0x23)

        const bytes = target.write(text, at)

        expect(bytes).toBe(byteLength(text))
        expect(read(target.subarray(at, at + bytes))).toBe(text)
        expect(read(target)).toBe(`${'#'.repeat(at)}${text}###`)
      }),
    )
  })
})

import { describe, expect, test } from 'vitest'
import { serialize, toMessageError } from '../../src/message/serialize.ts'

describe('the limit', () => {
  test.each(['x', 'é', '€', '🍰'])('is 32,768 bytes of %s, and not one more', (unit) => {
    const frame = JSON.stringify({ note: '' }).length
    const size = Buffer.byteLength(unit)
    const room = 32_768 - frame
    const largest = unit.repeat(Math.floor(room / size)) + 'x'.repeat(room % size)

    expect(serialize({ note: largest }, 32_768)).toContain(largest)
    expect(() => serialize({ note: `${largest}x` }, 32_768)).toThrow(
      expect.objectContaining({
        code: 'too_large',
        message: 'the message has 32769 bytes; the limit is 32768',
      }),
    )
  })
})

describe('values that JSON.stringify refuses', () => {
  test('lone surrogates become U+FFFD, as anywhere in UTF-8', () => {
    const json = serialize({ '\ud83c': 'a\udf70\ud83c', cake: '🍰', escaped: '\\ud800 \\\ud800' })

    expect(json).toBe('{"\ufffd":"a\ufffd\ufffd","cake":"🍰","escaped":"\\\\ud800 \\\\\ufffd"}')
  })

  test('an event that is too deep for both serializers fails with unserializable', () => {
    let deep: unknown = 1n
    for (let level = 0; level < 10_000; level++) deep = [deep]

    expect(() => serialize({ deep })).toThrow(expect.objectContaining({ code: 'unserializable' }))
  })

  test('a message whose own keys cannot be read fails with unserializable and the cause', () => {
    const cause = new Error('non')
    const message = new Proxy(
      {},
      {
        ownKeys() {
          throw cause
        },
      },
    )

    expect(() => serialize(message)).toThrow(
      expect.objectContaining({
        code: 'unserializable',
        message: 'the message cannot be written as JSON',
        cause,
      }),
    )
  })

  test('a field that throws when it is read makes its event fail with the cause', () => {
    const cause = new Error('non')

    expect(toMessageError(cause)).toMatchObject({
      code: 'unserializable',
      message: 'a field of the event throws when it is read',
      cause,
    })
  })

  test('a message whose toJSON returns nothing fails with unserializable', () => {
    expect(() => serialize({ toJSON() {} })).toThrow(
      expect.objectContaining({ code: 'unserializable', message: 'the message has no JSON' }),
    )
  })
})

test('with a higher limit, a message above the default limit may contain a BigInt', () => {
  const message = { text: 'x'.repeat(50_000), odd: 5n }

  expect(serialize(message, 100_000)).toBe(JSON.stringify({ ...message, odd: '5' }))
})

import { describe, expect, test } from 'vitest'
import { isMessageId } from '../../src/message/message-id.ts'
import { platform } from '../../src/runtime/platform.node.ts'

describe('message ids', () => {
  test('a new id is a random UUID that the service accepts', () => {
    const id = platform.randomId()

    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(isMessageId(id)).toBe(true)
  })

  test('no two of 20,000 ids are equal', () => {
    const ids = new Set(Array.from({ length: 20_000 }, () => platform.randomId()))

    expect(ids.size).toBe(20_000)
  })

  test.each([
    ['one character', 'é', true],
    ['99 characters', 'é'.repeat(99), true],
    ['100 characters', 'é'.repeat(100), false],
    ['101 characters', 'é'.repeat(101), false],
    // The limit counts characters and not UTF-16 code units, as in the collector.
    ['99 emoji, of two UTF-16 units each', '🍰'.repeat(99), true],
    ['100 emoji', '🍰'.repeat(100), false],
    ['98 letters and an emoji', `${'a'.repeat(98)}🍰`, true],
    ['99 letters and an emoji', `${'a'.repeat(99)}🍰`, false],
    ['empty text', '', false],
    ['a line break', 'commande\n17', false],
    ['NUL', 'commande\u0000', false],
    ['DEL', 'commande\u007f', false],
    ['a space', 'commande 17', true],
    ['a number', 17, false],
    ['an object', {}, false],
    ['null', null, false],
    ['undefined', undefined, false],
  ])('%s: %j is accepted: %s', (_label, id, isTaken) => {
    expect(isMessageId(id)).toBe(isTaken)
  })
})

import { describe, expect, test } from 'vitest'
import { estimateBytes } from '../../src/message/serialize.ts'

const LARGEST = 32_768

describe('the estimate of an event', () => {
  test.each([
    [
      'a small event',
      { type: 'track', userId: 'usr_Zoë', event: 'Commande passée', properties: { price: 12.5 } },
    ],
    ['long text', { text: 'x'.repeat(20_000) }],
    ['text of three bytes a character', { text: '茶'.repeat(6_000) }],
    ['many numbers', { list: Array.from({ length: 3_000 }, (_, index) => index) }],
    ['dates', { list: Array.from({ length: 500 }, () => new Date(0)) }],
    [
      'many keys',
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key number ${index}`, true])),
    ],
  ])('%s: the estimate is within a factor of two of the size of the JSON', (_label, event) => {
    const { length } = Buffer.from(JSON.stringify(event))

    expect(estimateBytes(event)).toBeGreaterThan(length / 2)
    expect(estimateBytes(event)).toBeLessThan(length * 2)
  })

  const circular: Record<string, unknown> = {}
  circular['self'] = circular
  const deep: Record<string, unknown> = {}
  let innermost = deep
  for (let level = 0; level < 10_000; level++) {
    const next = {}
    innermost['a'] = next
    innermost = next
  }
  const unreadable = {
    get a(): never {
      throw new Error('no')
    },
  }
  const throwing = new Proxy({}, { ownKeys: () => { throw new Error('no') } }) // biome-ignore format: one line
  test.each([
    ['a text that is too long', { text: 'x'.repeat(10_000_000) }],
    ['too many values', { list: Array.from({ length: 1_000_000 }, () => 1) }],
    ['a cycle', circular],
    ['10,000 levels', deep],
    ['a getter that throws', unreadable],
    ['a proxy that throws', { a: throwing }],
  ])('%s counts as the maximum', (_label, event) => {
    expect(estimateBytes(event)).toBe(LARGEST)
  })

  test.each([
    [63, 1_000],
    [64, LARGEST],
  ])('%i levels count for at most %i bytes', (levels, most) => {
    let event: object = {}
    for (let level = 0; level < levels; level++) event = { a: event }

    expect(estimateBytes(event)).toBeLessThanOrEqual(most)
    expect(estimateBytes(event) === LARGEST).toBe(most === LARGEST)
  })

  test.each([undefined, null, 5, Symbol('x'), 5n, () => {}])('%s counts for only a few bytes', (value) => {
    expect(estimateBytes(value)).toBeLessThan(10)
  })

  test.each([
    [[], 5],
    [[1, 2], 15],
    [new Date(0), 27],
    [{ a: 1 }, 14],
  ])('%o counts for %i bytes', (value, bytes) => {
    expect(estimateBytes(value)).toBe(bytes)
  })

  test('the maximum can be set', () => {
    expect(estimateBytes({ text: 'x'.repeat(50_000) }, 100_000)).toBeGreaterThan(50_000)
    expect(estimateBytes({ text: 'x'.repeat(500_000) }, 100_000)).toBe(100_000)
  })
})

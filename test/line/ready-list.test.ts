import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createItem, type Item } from '../../src/line/item.ts'
import { ReadyList } from '../../src/line/ready-list.ts'
import { bytesOf, totalBytes } from '../../src/line/store.ts'

const ALL = Number.POSITIVE_INFINITY

function itemOf(seq: number, bytes: number): Item {
  return Object.assign(createItem('track', seq), { stored: { bytes } })
}

function fill(...sizes: number[]): ReadyList {
  const list = new ReadyList()
  for (const [index, bytes] of sizes.entries()) list.append(itemOf(index, bytes))
  return list
}

const take = (list: ReadyList, maxBytes: number, maxItems = ALL): number[] =>
  seqsOf(list.take(maxBytes, maxItems, list.first))
const seqsOf = (items: readonly Item[]): number[] => items.map(({ seq }) => seq)

describe('taking', () => {
  test('an empty list gives nothing', () => {
    const list = fill()

    expect(take(list, 1_000)).toEqual([])
    expect([list.length, list.bytes, list.first, list.last]).toEqual([0, 0, undefined, undefined])
  })

  test.each([
    ['exactly what fits, commas included', 21, [0, 1]],
    ['one byte less', 20, [0]],
    ['the first alone, whatever its size', 1, [0]],
    ['all', 32, [0, 1, 2]],
    ['one byte less than all', 31, [0, 1]],
  ])('it takes %s', (_label, maxBytes, seqs) => {
    const list = fill(10, 10, 10)

    expect(take(list, maxBytes)).toEqual(seqs)
    expect(list.length).toBe(3 - seqs.length)
  })

  test('it takes no more items than asked for', () => {
    const list = fill(1, 1, 1)

    expect(take(list, 1_000, 2)).toEqual([0, 1])
    expect(take(list, 1_000, 0)).toEqual([])
  })

  test('a large item behind small ones waits for the next request, and does not let later ones pass', () => {
    const list = fill(10, 500, 10)

    expect([take(list, 100), take(list, 100), take(list, 100)]).toEqual([[0], [1], [2]])
  })

  // Row F71.
  test('ranges cut from any sizes are full, within the limit, and lose nothing', () => {
    const limit = 499_900
    const sizes = fc.array(fc.integer({ min: 1, max: 32_768 }), { maxLength: 300 })

    fc.assert(
      fc.property(sizes, (sizes) => {
        const list = fill(...sizes)
        const ranges: Item[][] = []
        while (list.length > 0) ranges.push(list.take(limit, ALL, list.first))

        expect(seqsOf(ranges.flat())).toEqual(sizes.map((_, index) => index))
        for (const [index, range] of ranges.entries()) {
          const bytes = totalBytes(range)
          expect(range.length).toBeGreaterThan(0)
          expect(bytes).toBeLessThanOrEqual(limit)
          if (index < ranges.length - 1) expect(limit - bytes).toBeLessThanOrEqual(32_768)
        }
      }),
      { numRuns: 100 },
    )
  })
})

describe('what is due', () => {
  test('is what was there when all was made due, and what was given back', () => {
    const list = fill(1, 1)
    expect(list.isDue).toBe(false)

    list.makeAllDue()
    list.append(itemOf(2, 1))
    const taken = list.take(ALL, 3, list.first)
    list.append(itemOf(3, 1))
    expect(list.isDue).toBe(false)
    list.giveBack(taken)

    expect(list.isDue).toBe(true)
    expect(take(list, ALL)).toEqual([0, 1, 2, 3])
  })

  test('the freshest is the first that the fewest requests have carried, and is due', () => {
    const list = fill(1, 1, 1, 1)
    for (const [index, item] of list.find(ALL, () => true).entries()) item.attempts = [2, 1, 1, 0][index] ?? 0
    expect(list.freshest?.seq).toBe(0)

    list.makeAllDue()
    expect(list.freshest?.seq).toBe(3)
    list.append(itemOf(4, 1))
    list.take(1, 1, list.freshest)

    expect(list.freshest?.seq).toBe(1)
  })
})

test('it behaves as a sorted list does, whatever is taken, given back and removed', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ kind: fc.constant('append' as const), count: fc.integer({ min: 1, max: 40 }) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('take' as const),
        from: fc.nat(),
        maxBytes: fc.integer({ min: 1, max: 900 }),
        maxItems: fc.integer({ min: 1, max: 20 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('giveBack' as const), which: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), which: fc.nat() }) },
  )

  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const list = new ReadyList()
      let model: Item[] = []
      const out: Item[][] = []
      let seq = 0
      for (const one of steps) {
        if (one.kind === 'append') {
          for (let count = 0; count < one.count; count++) {
            const item = itemOf(++seq, 1 + ((seq * 37) % 97))
            list.append(item)
            model.push(item)
          }
        } else if (one.kind === 'take') {
          const first = model.length === 0 ? undefined : model[one.from % model.length]
          const taken = list.take(one.maxBytes, one.maxItems, first)
          const index = first === undefined ? 0 : model.indexOf(first)
          expect(taken).toEqual(model.splice(index, taken.length))
          if (taken.length > 1) expect(totalBytes(taken)).toBeLessThanOrEqual(one.maxBytes)
          expect(taken.every(({ state }) => state === 'sent')).toBe(true)
          if (taken.length > 0) out.push(taken)
        } else if (one.kind === 'giveBack' && out.length > 0) {
          const [given = []] = out.splice(one.which % out.length, 1)
          list.giveBack(given)
          model = [...model, ...given].sort((a, b) => a.order - b.order)
        } else if (one.kind === 'remove' && model.length > 0) {
          const [removed] = model.splice(one.which % model.length, 1)
          list.remove(removed as Item)
        }

        expect(seqsOf(list.find(ALL, () => true))).toEqual(seqsOf(model))
        expect(list.length).toBe(model.length)
        expect(list.bytes).toBe(model.reduce((sum, { stored }) => sum + bytesOf(stored), 0))
        expect([list.first, list.last]).toEqual([model[0], model[model.length - 1]])
        expect(model.every(({ state }) => state === 'ready')).toBe(true)
      }
    }),
    { numRuns: 200 },
  )
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createItem, type Item } from '../../src/line/item.ts'
import { Line } from '../../src/line/line.ts'
import { SlabStore, totalBytes } from '../../src/line/store.ts'
import { resolveSettings } from '../../src/settings/resolve.ts'
import { settled } from '../support/fake-clock.ts'

const ALL = Number.POSITIVE_INFINITY
const settings = resolveSettings({ writeKey: 'wk_Zurich_7Qm4' })

/** A line, the queue of a client, that holds messages of these sizes in bytes. */
function fill(...sizes: number[]): Line {
  const sized: SlabStore = new SlabStore()
  sized.put = (json) => ({ bytes: Number(json) })
  const line = new Line({ settings, store: sized, displace: () => {} })
  for (const [index, bytes] of sizes.entries()) append(line, index, bytes)
  return line
}

function append(line: Line, seq: number, bytes: number): Item {
  const item = createItem('track', seq)
  line.add(item, String(bytes), false)
  return item
}

const take = (line: Line, maxBytes: number, maxItems = ALL): number[] => seqsOf(line.take(maxBytes, maxItems))
const seqsOf = (items: readonly Item[]): number[] => items.map(({ seq }) => seq)

describe('taking items', () => {
  test('an empty line gives none', () => {
    const line = fill()

    expect(take(line, 1_000)).toEqual([])
    expect([line.ready.length, line.ready.bytes, line.ready.first, line.ready.last]).toEqual([
      0,
      0,
      undefined,
      undefined,
    ])
  })

  test.each([
    ['two items that fit exactly, commas included', 21, [0, 1]],
    ['one item if the second needs one byte more', 20, [0]],
    ['the first alone, even if it is too large', 1, [0]],
    ['all items that fit exactly', 32, [0, 1, 2]],
    ['two items if the third needs one byte more', 31, [0, 1]],
  ])('takes %s', (_label, maxBytes, seqs) => {
    const line = fill(10, 10, 10)

    expect(take(line, maxBytes)).toEqual(seqs)
    expect(line.ready.length).toBe(3 - seqs.length)
  })

  test('takes no more items than asked for', () => {
    const line = fill(1, 1, 1)

    expect(take(line, 1_000, 2)).toEqual([0, 1])
    expect(take(line, 1_000, 0)).toEqual([])
  })

  test('a large item behind small ones waits for the next request, and later items do not overtake it', () => {
    const line = fill(10, 500, 10)

    expect([take(line, 100), take(line, 100), take(line, 100)]).toEqual([[0], [1], [2]])
  })

  // docs/faults.md, row F71.
  test('with random sizes, the taken ranges are full, within the limit, and lose no item', () => {
    const limit = 499_900
    const sizes = fc.array(fc.integer({ min: 1, max: 32_768 }), { maxLength: 300 })

    fc.assert(
      fc.property(sizes, (sizes) => {
        const line = fill(...sizes)
        const ranges: Item[][] = []
        while (line.ready.length > 0) ranges.push(line.take(limit, ALL))

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

test('each turn is reported once, even if several events were added in it', async () => {
  const line = fill(1)
  const told: boolean[] = []
  line.onTurn = (isNearlyFull) => told.push(isNearlyFull)

  append(line, 1, 1)
  await Promise.resolve()
  expect(told).toEqual([false])
  append(line, 2, 1)
  await Promise.resolve()

  expect(told).toEqual([false, false])
})

describe('due items', () => {
  test('are those that were ready at makeAllDue(), and those that were given back', () => {
    const line = fill(1, 1)
    expect(line.ready.isDue).toBe(false)

    line.makeAllDue()
    append(line, 2, 1)
    const taken = line.take(ALL, 3)
    append(line, 3, 1)
    expect(line.ready.isDue).toBe(false)
    line.giveBack(taken)

    expect(line.ready.isDue).toBe(true)
    expect(take(line, ALL)).toEqual([0, 1, 2, 3])
  })

  test('include the freshest item: the first due item with the fewest attempts', () => {
    const line = fill(1, 1, 1, 1)
    for (const [index, item] of line.find(ALL, () => true).entries()) item.attempts = [2, 1, 1, 0][index] ?? 0
    expect(line.freshest?.seq).toBe(0)

    line.makeAllDue()
    expect(line.freshest?.seq).toBe(3)
    append(line, 4, 1)
    line.take(1, 1, line.freshest)

    expect(line.freshest?.seq).toBe(1)
  })
})

test('leftPlugins waits for every event that is inside plugins at the call, and for no later one', async () => {
  const line = fill()
  const [first, second, later] = [createItem('track', 1), createItem('track', 2), createItem('track', 3)]
  line.enterPlugins(first, 10)
  line.enterPlugins(second, 10)
  let hasLeft = false
  const left = line.leftPlugins().then(() => {
    hasLeft = true
  })
  line.enterPlugins(later, 10)

  line.leave(first)
  await settled()
  expect(hasLeft).toBe(false)
  line.leave(second)
  await left

  expect(line.size).toBe(1)
})

test('the line behaves like a sorted list while items are taken, given back and removed at random', () => {
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
      const line = fill()
      let model: Item[] = []
      const out: Item[][] = []
      let seq = 0
      for (const one of steps) {
        if (one.kind === 'append') {
          for (let count = 0; count < one.count; count++) {
            model.push(append(line, ++seq, 1 + ((seq * 37) % 97)))
          }
        } else if (one.kind === 'take') {
          const first = model.length === 0 ? undefined : model[one.from % model.length]
          const taken = line.take(one.maxBytes, one.maxItems, first)
          const index = first === undefined ? 0 : model.indexOf(first)
          expect(taken).toEqual(model.splice(index, taken.length))
          if (taken.length > 1) expect(totalBytes(taken)).toBeLessThanOrEqual(one.maxBytes)
          expect(taken.every(({ state }) => state === 'sent')).toBe(true)
          if (taken.length > 0) out.push(taken)
        } else if (one.kind === 'giveBack' && out.length > 0) {
          const [given = []] = out.splice(one.which % out.length, 1)
          line.giveBack(given)
          model = [...model, ...given].sort((a, b) => a.order - b.order)
        } else if (one.kind === 'remove' && model.length > 0) {
          const [removed] = model.splice(one.which % model.length, 1)
          line.leave(removed as Item)
        }

        expect(seqsOf(line.find(ALL, () => true))).toEqual(seqsOf(model))
        expect(line.ready.length).toBe(model.length)
        expect(line.ready.bytes).toBe(model.reduce((sum, { stored }) => sum + (stored?.bytes ?? 0), 0))
        expect([line.ready.first, line.ready.last]).toEqual([model[0], model[model.length - 1]])
        const isDue = model[0] !== undefined && model[0].order <= line.ready.dueOrder
        expect(line.ready.isDue).toBe(isDue)
        expect(line.size).toBe(model.length + out.flat().length)
        expect(model.every(({ state }) => state === 'ready')).toBe(true)
      }
    }),
    { numRuns: 200 },
  )
})

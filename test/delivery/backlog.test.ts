import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Queue } from '../../src/delivery/backlog.ts'

interface Item {
  readonly id: number
  stored: { readonly bytes: number }
}

function fill(...sizes: number[]): Queue<Item> {
  const queue = new Queue<Item>()
  sizes.forEach((bytes, id) => {
    queue.push({ id, stored: { bytes } })
  })
  return queue
}

const idsOf = (items: readonly Item[]): number[] => items.map(({ id }) => id)

describe('the queue', () => {
  test('it gives back what came first, and knows its length and its bytes', () => {
    const queue = fill(10, 20, 30)

    const first = queue.shift()

    expect(first).toEqual({ id: 0, stored: { bytes: 10 } })
    expect(queue.length).toBe(2)
    expect(queue.bytes).toBe(50)
  })

  test('an empty queue gives nothing', () => {
    const queue = fill()

    expect(queue.shift()).toBeUndefined()
    expect(queue.take(1_000, 10)).toEqual([])
    expect(queue.length).toBe(0)
    expect(queue.bytes).toBe(0)
  })

  test.each([
    ['exactly what fits, commas included', 21, [0, 1]],
    ['one byte less', 20, [0]],
    ['the first alone, whatever its size', 1, [0]],
    ['all', 32, [0, 1, 2]],
    ['one byte less than all', 31, [0, 1]],
  ])('it takes %s', (_label, maxBytes, ids) => {
    const queue = fill(10, 10, 10)

    const taken = queue.take(maxBytes, Number.POSITIVE_INFINITY)

    expect(idsOf(taken)).toEqual(ids)
    expect(queue.length).toBe(3 - ids.length)
  })

  test('it takes no more items than asked for', () => {
    const queue = fill(1, 1, 1)

    expect(idsOf(queue.take(1_000, 2))).toEqual([0, 1])
    expect(queue.take(1_000, 0)).toEqual([])
  })

  test('a large item behind small ones waits for the next batch, and does not let later ones pass', () => {
    const queue = fill(10, 500, 10)

    expect(idsOf(queue.take(100, Number.POSITIVE_INFINITY))).toEqual([0])
    expect(idsOf(queue.take(100, Number.POSITIVE_INFINITY))).toEqual([1])
    expect(idsOf(queue.take(100, Number.POSITIVE_INFINITY))).toEqual([2])
  })

  type Command = (queue: Queue<Item>, model: Item[], next: () => Item) => void
  const commands = fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 2_500 }).map(pushing) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 2_500 }).map(shifting) },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 1, max: 99 })).map(taking),
    },
  )

  function pushing(count: number): Command {
    return (queue, model, next) => {
      for (let done = 0; done < count; done++) {
        const item = next()
        queue.push(item)
        model.push(item)
      }
    }
  }
  function shifting(count: number): Command {
    return (queue, model) => {
      for (let done = 0; done < count; done++) expect(queue.shift()).toBe(model.shift())
    }
  }
  function taking([maxBytes, maxItems]: [number, number]): Command {
    return (queue, model) => {
      const taken = queue.take(maxBytes, maxItems)

      expect(taken).toEqual(model.splice(0, taken.length))
      const bytes = taken.reduce((sum, item) => sum + item.stored.bytes + 1, -1)
      const [following] = model
      if (taken.length > 1) expect(bytes).toBeLessThanOrEqual(maxBytes)
      expect(taken.length).toBeLessThanOrEqual(maxItems)
      if (following === undefined || taken.length === maxItems) return
      expect(taken.length).toBeGreaterThan(0)
      expect(bytes + following.stored.bytes + 1).toBeGreaterThan(maxBytes)
    }
  }
  test('it behaves as a plain list does, whatever is done to it', () => {
    fc.assert(
      fc.property(
        fc.array(commands, { maxLength: 25 }),
        fc.integer({ min: 1, max: 997 }),
        (steps, factor) => {
          const queue = new Queue<Item>()
          const model: Item[] = []
          let id = 0
          const next = (): Item => ({ id: id++, stored: { bytes: 1 + ((id * factor) % 997) } })

          for (const step of steps) {
            step(queue, model, next)

            expect(queue.length).toBe(model.length)
            expect(queue.bytes).toBe(model.reduce((sum, { stored }) => sum + stored.bytes, 0))
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  // Row F71.
  test('batches cut from any sizes are full, within the limit, and lose nothing', () => {
    const limit = 499_900
    const sizes = fc.array(fc.integer({ min: 1, max: 32_768 }), { maxLength: 300 })

    fc.assert(
      fc.property(sizes, (sizes) => {
        const queue = fill(...sizes)
        const batches: Item[][] = []
        while (queue.length > 0) batches.push(queue.take(limit, Number.POSITIVE_INFINITY))

        expect(idsOf(batches.flat())).toEqual(sizes.map((_, id) => id))
        for (const [index, batch] of batches.entries()) {
          const bytes = batch.reduce((sum, item) => sum + item.stored.bytes + 1, -1)
          expect(batch.length).toBeGreaterThan(0)
          expect(bytes).toBeLessThanOrEqual(limit)
          if (index < batches.length - 1) expect(limit - bytes).toBeLessThanOrEqual(32_768)
        }
      }),
      { numRuns: 100 },
    )
  })
})

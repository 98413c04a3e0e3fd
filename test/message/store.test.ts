import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { serialize } from '../../src/message/serialize.ts'
import { type Holder, MessageStore, type StoredMessage } from '../../src/message/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { storeAll } from '../support/stored.ts'

interface Stored {
  stored: StoredMessage
}

/** The place of a message in memory. A slab is a block of memory for several messages. */
function placeOf({ stored }: Stored): { slab: { bytes: Uint8Array } | undefined; start: number } {
  return stored as unknown as ReturnType<typeof placeOf>
}

const textOf = (store: MessageStore, { stored }: Stored): string => store.read(stored)

/** A message of exactly `bytes` bytes. */
function messageOf(bytes: number, unit = 'x'): object {
  const rest = bytes - Buffer.byteLength('{"p":""}')
  const size = Buffer.byteLength(unit)
  return { p: unit.repeat(Math.floor(rest / size)) + 'x'.repeat(rest % size) }
}

function bodyOf(store: MessageStore, entries: readonly Holder[]): string {
  return Buffer.from(store.join(entries, '<é', 'è>')).toString('utf8')
}

describe('a stored message', () => {
  test('can be read back, with its length in bytes', () => {
    const messages = [{ event: 'Commande passée' }, { event: 'Thé 🍰' }, { event: '東京' }]

    const store = new MessageStore()
    const entries = storeAll(messages, store)

    expect(entries.map((entry) => textOf(store, entry))).toEqual(
      messages.map((message) => JSON.stringify(message)),
    )
    expect(entries.map(({ stored }) => stored.bytes)).toEqual(
      messages.map((message) => Buffer.byteLength(JSON.stringify(message))),
    )
  })

  test.each(['x', 'é', '€', '🍰'])('may be larger than a slab, in %s', (unit) => {
    const store = new MessageStore()

    const entries = storeAll([{ n: 1 }, messageOf(200_000, unit), { n: 2 }], store)

    expect(entries.map((entry) => textOf(store, entry))).toEqual([
      '{"n":1}',
      JSON.stringify(messageOf(200_000, unit)),
      '{"n":2}',
    ])
  })
})

test.each([4_094, 4_095, 4_096, 4_097])(
  'a message of %i bytes, about the size of the first slab, is followed by its comma',
  (bytes) => {
    const store = new MessageStore()
    const entries = storeAll([messageOf(bytes), { n: 1 }, { n: 2 }], store)

    expect(bodyOf(store, entries)).toBe(`<é${JSON.stringify(messageOf(bytes))},{"n":1},{"n":2}è>`)
  },
)

describe('the memory of the store', () => {
  test('is used again after a burst', () => {
    const store = new MessageStore()
    const burst = (): Set<unknown> => {
      const entries = storeAll(new Array(500).fill(messageOf(900)), store)
      const slabs = new Set<unknown>(entries.map((entry) => placeOf(entry).slab))
      for (const entry of entries) store.release(entry.stored)
      return slabs
    }

    const [before, after] = [burst(), burst()]

    // The first slab is small, and has room for 4 of these messages; the others have room for 72.
    expect(before.size).toBe(1 + 7)
    expect(after.size).toBe(7)
    expect([...after].filter((slab) => before.has(slab))).toHaveLength(7)
  })
})

test('messages that stay while their neighbours leave take at most 1.5 times their bytes and 1 MB', () => {
  const MB = 1_048_576
  const clock = new FakeClock()
  const below = (limit: number): number => Math.floor(clock.random() * limit)
  const store = new MessageStore()
  const held: { entry: Stored; json: string }[] = []
  let mostSlabBytes = 0
  for (let round = 0; round < 60; round++) {
    // What waits grows and shrinks, to a few messages that are spread over all slabs.
    const share = [0.02, 0.5, 0.98, 1][below(4)] as number
    for (let count = below(3_000); count > 0; count--) {
      const json = JSON.stringify(messageOf(below(20) === 0 ? 8 + below(32_000) : 8 + below(1_500)))
      const entry = { stored: store.put(json) }
      if (below(2) === 0) held.push({ entry, json })
      else store.release(entry.stored)
    }
    for (let index = held.length - 1; index >= 0; index--) {
      if (clock.random() < share) continue
      for (const { entry } of held.splice(index, 1)) store.release(entry.stored)
    }
    const slabs = new Set(held.map(({ entry }) => placeOf(entry).slab?.bytes))
    const slabBytes = [...slabs].reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0)
    const liveBytes = held.reduce((sum, { entry }) => sum + entry.stored.bytes + 1, 0)
    mostSlabBytes = Math.max(mostSlabBytes, slabBytes)

    // The current slab, and the empty ones that are kept, hold no message.
    expect(slabBytes + 9 * 65_536).toBeLessThanOrEqual(1.5 * liveBytes + MB)
  }

  expect(mostSlabBytes).toBeGreaterThan(2 * MB)
  expect(held.map(({ entry }) => textOf(store, entry))).toEqual(held.map(({ json }) => json))
})

describe('messages that are put and released in any order', () => {
  const size = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 8, max: 2_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 8, max: 32_768 }) },
  )
  const step = fc.record({
    bytes: size,
    unit: fc.constantFrom('x', 'é', '€', '🍰'),
    releases: fc.array(fc.nat(), { maxLength: 3 }),
  })

  test('are intact as long as they are held, and copied in the format of a request body', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 150 }), (steps) => {
        const store = new MessageStore()
        const held: { entry: Stored; json: string }[] = []

        for (const { bytes, unit, releases } of steps) {
          const json = serialize(messageOf(bytes, unit), Number.POSITIVE_INFINITY)
          const entry = { stored: store.put(json) }
          held.push({ entry, json })
          for (const one of releases) {
            for (const { entry } of held.splice(one % (held.length + 1), 1)) store.release(entry.stored)
          }
        }

        expect(held.map(({ entry }) => textOf(store, entry))).toEqual(held.map(({ json }) => json))
        if (held.length === 0) return
        const body = held.map(({ json }) => json).join(',')
        expect(
          bodyOf(
            store,
            held.map(({ entry }) => entry),
          ),
        ).toBe(`<é${body}è>`)
      }),
      { numRuns: 300 },
    )
  })
})

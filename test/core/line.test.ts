import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createItem, type Item } from '../../src/core/item.ts'
import { Line } from '../../src/core/line.ts'

const ALL = Number.POSITIVE_INFINITY

/** A line with events of these sizes in bytes. */
function fill(...sizes: number[]): Line {
  const line = new Line()
  for (const [index, bytes] of sizes.entries()) join(line, index, bytes)
  return line
}

function join(line: Line, seq: number, bytes: number): Item {
  const item = createItem('track', seq)
  item.bytes = bytes
  line.join(item)
  return item
}

const seqsOf = (items: readonly Item[]): number[] => items.map(({ seq }) => seq)
const bytesOf = (items: readonly Item[]): number => items.reduce((sum, { bytes }) => sum + bytes, 0)

describe('taking events', () => {
  test.each([
    // Each message is counted with a comma; the caller adds one byte for the comma that the last does not have.
    ['two events that fit exactly, commas included', 22, [0, 1]],
    ['one event if the second needs one byte more', 21, [0]],
    ['the first alone, even if it is too large', 1, [0]],
    ['all events that fit exactly', 33, [0, 1, 2]],
    ['two events if the third needs one byte more', 32, [0, 1]],
  ])('gives %s', (_label, maxBytes, seqs) => {
    const line = fill(10, 10, 10)

    expect(seqsOf(line.take(ALL, maxBytes))).toEqual(seqs)
    expect([line.length, line.bytes]).toEqual([3 - seqs.length, 30 - 10 * seqs.length])
  })
})

test('events are due up to the place of the last that waited', () => {
  const line = fill(1, 1)
  line.makeDue(5)
  join(line, 2, 1)

  expect([line.isDue, line.isAllDue]).toEqual([true, false])
  expect(line.all().map(({ dueMs }) => dueMs)).toEqual([5, 5, ALL])
  line.take(2, ALL)
  expect(line.isDue).toBe(false)
})

test('an event that was due keeps the time at which it became due', () => {
  const line = fill(1)
  line.makeDue(5)
  join(line, 1, 1)
  line.makeDue(9)

  expect(line.all().map(({ dueMs }) => dueMs)).toEqual([5, 9])
})

test('events that are put back are due, and in their places', () => {
  const line = fill(1, 1, 1, 1)
  line.makeDue(5)
  const [first, second] = line.take(2, ALL) as [Item, Item]
  line.putBack([second])
  line.putBack([first])

  expect(line.isDue).toBe(true)
  expect(seqsOf(line.all())).toEqual([0, 1, 2, 3])
})

test('the freshest event is the newest of those that have failed least', () => {
  const line = fill(1, 1, 1, 1)
  for (const [index, failures] of [2, 1, 1, 3].entries()) (line.all()[index] as Item).failures = failures

  expect(line.takeFreshest()?.seq).toBe(2)
  join(line, 4, 1)
  expect(line.takeFreshest()?.seq).toBe(4)
  expect(seqsOf(line.all())).toEqual([0, 1, 3])
})

test('behaves like a sorted list while events join, are taken, put back and extracted at random', () => {
  const step = fc.record({
    what: fc.constantFrom('join', 'take', 'freshest', 'putBack', 'extract'),
    n: fc.nat(20),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = fill()
      let [waiting, taken]: [Item[], Item[]] = [[], []]
      let seq = 0
      for (const { what, n } of steps) {
        if (what === 'join') waiting.push(join(line, seq++, n))
        else if (what === 'take') {
          const batch = line.take(n, ALL)
          expect(seqsOf(batch)).toEqual(seqsOf(waiting.splice(0, n)))
          taken.push(...batch)
        } else if (what === 'freshest') {
          // None has failed, so it is the newest.
          const item = line.takeFreshest()
          expect(item).toBe(waiting.pop())
          if (item !== undefined) taken.push(item)
        } else if (what === 'putBack') {
          const back = taken.filter(({ place }) => place % 2 === n % 2)
          taken = taken.filter((one) => !back.includes(one))
          line.putBack(back)
          waiting = [...waiting, ...back].sort((one, other) => one.place - other.place)
        } else {
          const isMeant = (item: Item): boolean => item.seq % 5 === n % 5
          expect(line.extract(isMeant)).toEqual(waiting.filter(isMeant))
          waiting = waiting.filter((item) => !isMeant(item))
        }
        expect([line.length, line.bytes]).toEqual([waiting.length, bytesOf(waiting)])
        expect(line.all()[0]).toBe(waiting[0])
        expect(seqsOf(line.all())).toEqual(seqsOf(waiting))
      }
    }),
  )
})

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createItem, type Item } from '../../src/line/item.ts'
import { Line } from '../../src/line/line.ts'

const ALL = Number.POSITIVE_INFINITY

/** A line whose turn is over, with events of these sizes in bytes. */
function fill(...sizes: number[]): Line {
  const line = new Line({ maxQueueSize: 1_000, maxQueueBytes: 1_000_000 })
  for (const [index, bytes] of sizes.entries()) join(line, index, bytes)
  line.passAll()
  return line
}

function join(line: Line, seq: number, bytes: number): Item {
  const item = createItem('track', seq)
  line.join(item, bytes)
  return item
}

const seqsOf = (items: readonly Item[]): number[] => items.map(({ seq }) => seq)
const take = (line: Line, maxBytes: number, maxItems = ALL): number[] => seqsOf(line.take(maxBytes, maxItems))

describe('taking events', () => {
  test('gives none from an empty line', () => {
    const line = fill()

    expect(take(line, 1_000)).toEqual([])
    expect([line.readyLength, line.readyBytes, line.first]).toEqual([0, 0, undefined])
  })

  test.each([
    ['two events that fit exactly, commas included', 21, [0, 1]],
    ['one event if the second needs one byte more', 20, [0]],
    ['the first alone, even if it is too large', 1, [0]],
    ['all events that fit exactly', 32, [0, 1, 2]],
    ['two events if the third needs one byte more', 31, [0, 1]],
  ])('gives %s', (_label, maxBytes, seqs) => {
    const line = fill(10, 10, 10)

    expect(take(line, maxBytes)).toEqual(seqs)
    expect(line.readyLength).toBe(3 - seqs.length)
    expect([line.size, line.bytes]).toEqual([3, 30])
  })
})

test('events are due up to the place of the last that had passed', () => {
  const line = fill(1)
  line.makeAllDue()
  expect(line.isDue).toBe(true)
  line.take(ALL, 1)
  join(line, 1, 1)
  line.passAll()
  expect(line.isDue).toBe(false)
})

test('events that are given back are due, and in their places', () => {
  const line = fill(1, 1, 1, 1)
  const [first, second] = line.take(ALL, 2)
  line.giveBack([second as Item])
  line.giveBack([first as Item])

  expect(line.isDue).toBe(true)
  expect(take(line, 1_000)).toEqual([0, 1, 2, 3])
})

test('the freshest event is the oldest of those that have failed least', () => {
  const line = fill(1, 1, 1)
  const items = line.take(ALL, ALL)
  for (const [index, failures] of [2, 1, 1].entries()) (items[index] as Item).failures = failures
  line.giveBack(items)
  join(line, 3, 1)

  expect(line.freshest?.seq).toBe(1)
})

test('an event that leaves its plugins within the end of its turn keeps its place before the rest', () => {
  const line = fill()
  const [one] = [join(line, 1, 5), join(line, 2, 5)]
  line.remove(one)
  one.state = 'plugins'

  line.putBack(one)

  expect([line.readyLength, line.turnLength, line.passedOrder]).toEqual([1, 1, one.order])
  expect(take(line, 1_000)).toEqual([1])
})

test('behaves like a sorted list while events join, pass, are taken, given back and leave at random', () => {
  const step = fc.record({
    what: fc.constantFrom('join', 'pass', 'take', 'giveBack', 'leave'),
    n: fc.nat(20),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = fill()
      let [turn, ready, sent]: [Item[], Item[], Item[]] = [[], [], []]
      let seq = 0
      for (const { what, n } of steps) {
        if (what === 'join') turn.push(join(line, seq++, n))
        else if (what === 'pass') {
          line.passAll()
          ready.push(...turn)
          turn = []
        } else if (what === 'take') {
          const taken = line.take(ALL, n)
          expect(seqsOf(taken)).toEqual(seqsOf(ready.splice(0, n)))
          sent.push(...taken)
        } else if (what === 'giveBack') {
          const back = sent.filter((_, index) => index % 2 === n % 2).sort((a, b) => a.order - b.order)
          sent = sent.filter((one) => !back.includes(one))
          line.giveBack(back)
          ready = [...ready, ...back].sort((a, b) => a.order - b.order)
        } else {
          const all = [...ready, ...turn, ...sent]
          const gone = all[n % Math.max(1, all.length)]
          if (gone === undefined) continue
          line.leave(gone)
          ;[turn, ready, sent] = [turn, ready, sent].map((list) => list.filter((one) => one !== gone)) as [
            Item[],
            Item[],
            Item[],
          ]
        }
        const counted = [...turn, ...ready, ...sent]
        expect([line.size, line.readyLength, line.turnLength]).toEqual([
          counted.length,
          ready.length,
          turn.length,
        ])
        expect(line.bytes).toBe(counted.reduce((sum, { bytes }) => sum + bytes, 0))
        expect(seqsOf(line.find(ALL, () => true))).toEqual(seqsOf([...ready, ...turn]))
        expect(line.turnFirst).toBe(turn[0])
      }
    }),
  )
})

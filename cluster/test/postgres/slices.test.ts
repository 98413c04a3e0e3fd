import { describe, expect, test } from 'vitest'
import { parseSearch } from '../../../collector/src/search/parse.ts'
import { EVENT_VOCABULARY, REQUEST_VOCABULARY } from '../../../collector/src/search/syntax.ts'
import { Budget } from '../../../collector/src/store/budget.ts'
import type { Bounds, Dialect } from '../../../collector/src/store/dialect.ts'
import { stepsOf } from '../../../collector/src/store/queries/index.ts'
import { slicesOf } from '../../../collector/src/store/slices.ts'
import { openDatabase } from '../../../collector/src/store/sqlite/database.ts'
import { dialectOf } from '../../../collector/src/store/sqlite/dialect.ts'
import { dialectOf as dialectOfPostgres } from '../../src/postgres/dialect.ts'
import { Span } from '../../src/postgres/span.ts'

const SIZES = { first: 50, most: 400, border: 1000 }
const whole: Bounds = { first: 7, last: 12_345 }

describe.each(['oldest', 'newest'] as const)('slices with the %s first', (order) => {
  test.each([1, 3, 200])(
    'hold each row once and cross no border, with %i comparisons a row',
    (comparisons) => {
      const slices = [...slicesOf(whole, order, SIZES, comparisons)]
      if (order === 'newest') slices.reverse()

      let next = whole.first
      for (const { first, last } of slices) {
        expect(first).toBe(next)
        expect(Math.floor(first / SIZES.border)).toBe(Math.floor(last / SIZES.border))
        expect(last - first + 1).toBeLessThanOrEqual(Math.max(8, SIZES.most / comparisons))
        next = last + 1
      }
      expect(next).toBe(whole.last + 1)
    },
  )
})

const first = { first: 1, last: 8000 }
const postgres = dialectOfPostgres(new Span(first, [{ firstSeq: 1, day: '2026-05-17' }]))
const sqlite = dialectOf(openDatabase({ path: ':memory:', durability: 'process', hasDedupWindow: false }))
const dialects: Array<[string, Dialect]> = [
  ['SQLite', { ...sqlite, ...first, boundsOf: postgres.boundsOf }],
  ['PostgreSQL', postgres],
]

describe.each(dialects)('on %s', (_, dialect) => {
  test.each(['events', 'count', 'requests'] as const)(
    'the more comparisons a line needs, the fewer rows a statement of %s reads',
    (name) => {
      const vocabulary = name === 'requests' ? REQUEST_VOCABULARY : EVENT_VOCABULARY
      const statements = (line: string) => {
        const search = parseSearch(line, vocabulary)
        const context = { dialect, plan: null, nowMs: 0, budget: new Budget(Number.POSITIVE_INFINITY) }
        const steps = stepsOf(context, name, { search, order: 'newest', limit: 10, isFull: false } as never)
        let count = 0
        // Every statement finds nothing, but the bounds of the requests.
        for (let step = steps.next([]); !step.done; count++) step = steps.next(count === 0 ? [first] : [])
        return count
      }

      expect(statements('a')).toBeLessThan(20)
      expect(statements('a '.repeat(200))).toBeGreaterThan(30)
    },
  )
})

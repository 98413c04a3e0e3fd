import { expect, test } from 'vitest'
import { Budget, QUERY_MS } from '../../src/store/budget.ts'

test.each([
  { queryMs: QUERY_MS, ms: 3_600_000, isUsedUp: false },
  { queryMs: Number.POSITIVE_INFINITY, ms: 1e-9, isUsedUp: false },
  { queryMs: 0, ms: 3_600_000, isUsedUp: true },
])('a part of $ms ms of a query with $queryMs ms', ({ queryMs, ms, isUsedUp }) => {
  expect(new Budget(queryMs).part(ms).isUsedUp).toBe(isUsedUp)
})

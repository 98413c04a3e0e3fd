import { describe, expect, test } from 'vitest'
import { type Action, classify } from '../../src/policy/classify.ts'

/** The table of section 8 of the specification, range by range. */
const POLICY: [from: number, to: number, writeKey: Action, token: Action][] = [
  [99, 199, 'retry', 'retry'],
  [200, 299, 'delivered', 'delivered'],
  [300, 399, 'rejected', 'rejected'],
  [400, 400, 'refuse', 'refuse'],
  [401, 401, 'auth', 'renew'],
  [402, 402, 'rejected', 'rejected'],
  [403, 403, 'auth', 'auth'],
  [404, 407, 'rejected', 'rejected'],
  [408, 408, 'retry', 'retry'],
  [409, 409, 'rejected', 'rejected'],
  [410, 410, 'retry', 'retry'],
  [411, 412, 'rejected', 'rejected'],
  [413, 413, 'split', 'split'],
  [414, 421, 'rejected', 'rejected'],
  [422, 422, 'refuse', 'refuse'],
  [423, 424, 'rejected', 'rejected'],
  [425, 425, 'retry', 'retry'],
  [426, 428, 'rejected', 'rejected'],
  [429, 429, 'limited', 'limited'],
  [430, 459, 'rejected', 'rejected'],
  [460, 460, 'retry', 'retry'],
  [461, 499, 'rejected', 'rejected'],
  [500, 500, 'retry', 'retry'],
  [501, 501, 'rejected', 'rejected'],
  [502, 504, 'retry', 'retry'],
  [505, 505, 'rejected', 'rejected'],
  [506, 510, 'retry', 'retry'],
  [511, 511, 'auth', 'renew'],
  [512, 599, 'retry', 'retry'],
  [600, 999, 'retry', 'retry'],
]

const rows = POLICY.flatMap(([from, to, writeKey, token]) =>
  Array.from({ length: to - from + 1 }, (_, index) => ({ status: from + index, writeKey, token })),
)

// Row F24.
describe('the status policy', () => {
  test('the table has every status from 99 to 999 once', () => {
    expect(rows.map(({ status }) => status)).toEqual(Array.from({ length: 901 }, (_, index) => 99 + index))
  })

  test.each(rows)(
    '$status is $writeKey with a write key and $token with a token',
    ({ status, writeKey, token }) => {
      expect(classify(status, false)).toBe(writeKey)
      expect(classify(status, true)).toBe(token)
    },
  )

  test.each([0, -1, 1_000, Number.MAX_SAFE_INTEGER])('%i, which is no status, is tried again', (status) => {
    expect(classify(status, false)).toBe('retry')
  })
})

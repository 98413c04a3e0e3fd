import { expect, test } from 'vitest'
import type { AttemptResult } from '../../../collector/src/batch-sender.ts'
import { outcomeOf, refusalReason } from '../../src/clickhouse/refusal.ts'
import { type BatchOutcome, sendSplitting } from '../../src/clickhouse/split.ts'

const taken: BatchOutcome = { kind: 'taken' }
const items = (count: number) => Array.from({ length: count }, (_, index) => index)

async function run(
  groups: readonly number[][],
  outcome: (group: readonly number[]) => BatchOutcome,
  canGoOn: () => boolean = () => true,
) {
  const results = new Map<number, AttemptResult>()
  const requests: number[] = []
  await sendSplitting(
    groups,
    async (group) => {
      requests.push(group.length)
      return outcome(group)
    },
    (item, result) => {
      expect(results.has(item)).toBe(false)
      results.set(item, result)
    },
    canGoOn,
  )
  const having = (result: string) =>
    [...results].filter(([, one]) => one.result === result).map(([item]) => item)
  return { results, requests, having }
}

test('a refused group is halved until the invalid event is alone', async () => {
  const { requests, having } = await run([items(8)], (group) =>
    group.includes(5) ? { kind: 'refused', reason: 'bad' } : taken,
  )

  expect(requests).toEqual([8, 4, 4, 2, 1, 1, 2])
  expect(having('failed')).toEqual([5])
  expect(having('delivered')).toEqual([0, 1, 2, 3, 4, 6, 7])
})

test('one event that makes requests fail without a clear reason is found, and not given up', async () => {
  const { having } = await run([items(1000)], (group) =>
    group.includes(777) ? { kind: 'unclear', reason: 'odd' } : taken,
  )

  expect(having('retry')).toEqual([777])
  expect(having('delivered')).toHaveLength(999)
})

test('if every request fails without a clear reason, only a few requests are sent', async () => {
  const { requests, having, results } = await run([items(1000)], () => ({ kind: 'unclear', reason: 'odd' }))

  expect(requests).toHaveLength(41)
  expect(having('retry')).toHaveLength(1000)
  expect(new Set([...results.values()].map((one) => 'reason' in one && one.reason))).toEqual(new Set(['odd']))
})

test('after a request has found that the destination is unavailable, no further request is sent', async () => {
  const { requests, having } = await run([[1, 2], [3], [4]], (group) =>
    group.includes(3) ? { kind: 'unavailable', reason: 'gone' } : taken,
  )

  expect(requests).toEqual([2, 1])
  expect(having('delivered')).toEqual([1, 2])
  expect(having('retry')).toEqual([3, 4])
})

test('if there is no time left, the remaining events are left for another batch', async () => {
  let left = 2
  const { having } = await run(
    [[1], [2], [3]],
    () => taken,
    () => left-- > 0,
  )

  expect(having('delivered')).toEqual([1, 2])
  expect(having('retry')).toEqual([3])
})

test('the reason of a refusal contains no data of the event', () => {
  const text =
    "Code: 41. DB::Exception: Cannot parse 'Code: 516. DB::Exception: (AUTHENTICATION_FAILED)': (at row 1)\n. (CANNOT_PARSE_DATETIME) (version 24.3.1.2672 (official build))\n"
  const response = { status: 400, code: 41, text }

  expect(refusalReason(response)).toBe('refused: CANNOT_PARSE_DATETIME')
  expect(outcomeOf(response).kind).toBe('refused')
  expect(refusalReason({ ...response, text: 'something else (OF_A_USER) entirely' })).toBe('refused: code 41')
})

test.each([
  [200, undefined, 'taken'],
  [204, undefined, 'taken'],
  // An exception after the server has sent the first bytes of the response.
  [200, 243, 'unavailable'],
  [302, undefined, 'unavailable'],
  [404, undefined, 'unavailable'],
  [413, undefined, 'refused'],
  [500, 241, 'unclear'],
  [403, 516, 'unavailable'],
] as const)('a response of %d with the code %s means %s', (status, code, kind) => {
  expect(outcomeOf({ status, code, text: '' }).kind).toBe(kind)
})

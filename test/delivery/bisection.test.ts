import { describe, expect, test } from 'vitest'
import { codesOf, createEntry, ids, idsOf, type Outcome, setUpDelivery } from '../support/create-delivery.ts'
import { networkError, type Reply, type SentRequest, status } from '../support/scripted-client.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()

/** A service that refuses every batch that contains a bad event, and names the first bad event in its response. */
const refusing =
  (bad: readonly string[], code = 400): Reply =>
  ({ messageIds }) => {
    const found = messageIds.find((id) => bad.includes(id))
    return found === undefined
      ? { status: 200, statusText: 'OK' }
      : { status: code, statusText: 'Bad Request', text: async () => `{"message":"${found} is invalid"}` }
  }

async function send(count: number, reply: Reply, settings = {}) {
  const setup = setUpDelivery({ settings: { flushAt: count, ...settings }, replies: [reply] })
  setup.enqueue(...ids(count))
  await setup.clock.advance(0)
  return setup
}

const failedIn = (outcomes: Outcome[]): string[] =>
  idsOf(outcomes.filter(({ error }) => error !== undefined)).sort()

/** Ids of the events that the service accepted, in the order of the requests. */
const takenIn = (requests: readonly SentRequest[], bad: readonly string[]): string[] =>
  requests.flatMap(({ messageIds }) => (messageIds.some((id) => bad.includes(id)) ? [] : messageIds))

describe('a batch that is refused because of its content', () => {
  test.each([400, 422])('%i: one bad event of 100 fails alone, wherever it is', async (code) => {
    for (let number = 1; number <= 100; number++) {
      const bad = [`a${number}`]

      const { client, outcomes } = await send(100, refusing(bad, code))

      expect(failedIn(outcomes)).toEqual(bad)
      expect(outcomes).toHaveLength(100)
      expect(client.requests.length - 1).toBeLessThanOrEqual(13)
    }
  })

  test('the bad event fails with the response of the service', async () => {
    const { outcomes } = await send(100, refusing(['a70']))

    expect(outcomes.find(({ id }) => id === 'a70')?.error).toMatchObject({
      code: 'rejected',
      status: 400,
      response: '{"message":"a70 is invalid"}',
    })
  })

  test('two bad events of 100 fail alone, wherever they are, after at most 24 more requests', async () => {
    let most = 0
    for (let one = 1; one <= 100; one += 7) {
      for (let other = one + 1; other <= 100; other += 3) {
        const bad = [`a${one}`, `a${other}`]

        const { client, outcomes } = await send(100, refusing(bad))

        expect(failedIn(outcomes)).toEqual([...bad].sort())
        most = Math.max(most, client.requests.length - 1)
      }
    }
    expect(most).toBeLessThanOrEqual(24)
    // Otherwise the test would not come near the limit of 24.
    expect(most).toBeGreaterThan(20)
  })

  test('with fifty bad events of 100 there are at most 24 more requests, and every event has one outcome', async () => {
    const bad = ids(100).filter((_, index) => index % 2 === 0)

    const { client, outcomes } = await send(100, refusing(bad))

    expect(client.requests.length).toBeLessThanOrEqual(25)
    expect(client.requests.length).toBeGreaterThan(20)
    expect(new Set(idsOf(outcomes)).size).toBe(100)
    expect(outcomes).toHaveLength(100)
    const failed = failedIn(outcomes)
    expect(bad.every((id) => failed.includes(id))).toBe(true)
    expect(new Set(codesOf(outcomes))).toEqual(new Set(['delivered', 'rejected']))
    // Some good events are delivered. Good events for which no request was left fail together with bad ones.
    expect(failed.length).toBeLessThan(100)
  })

  test('when both halves are refused with the same text, no single event is the cause: all fail', async () => {
    const reply: Reply = () => ({
      status: 400,
      statusText: 'Bad Request',
      text: async () => 'invalid write key',
    })

    const { client, outcomes } = await send(100, reply)

    expect(client.batchSizes).toEqual([100, 50, 50])
    expect(codesOf(outcomes)).toEqual(new Array(100).fill('rejected'))
    expect(outcomes[99]?.error?.response).toBe('invalid write key')
    expect(idsOf(outcomes).sort()).toEqual(ids(100).sort())
  })

  test('when the text of each response differs, there are at most 24 more requests', async () => {
    let number = 0
    const reply: Reply = () => ({
      status: 400,
      statusText: 'Bad Request',
      text: async () => `request ${++number}`,
    })

    const { client, outcomes } = await send(1_000, reply)

    expect(client.requests).toHaveLength(25)
    expect(codesOf(outcomes)).toEqual(new Array(1_000).fill('rejected'))
  })

  test('an event fails exactly if its last request was refused, however early or late the service starts to accept', async () => {
    for (let refusals = 1; refusals <= 25; refusals++) {
      let number = 0
      const { client, outcomes } = await send(100, () => ({
        status: ++number <= refusals ? 400 : 200,
        statusText: '',
        text: async () => `request ${number}`,
      }))

      expect(outcomes).toHaveLength(100)
      const lastOf = new Map(
        client.requests.flatMap(({ messageIds }, at) => messageIds.map((id) => [id, at])),
      )
      for (const { id, error } of outcomes) {
        expect(error === undefined, `${id} after ${refusals} refusals`).toBe(
          (lastOf.get(id) ?? 0) >= refusals,
        )
      }
    }
  })

  test('a part is sent as a whole when the limit leaves no requests to halve it', async () => {
    let number = 0
    const { client, outcomes } = await send(1_000, () => ({
      status: ++number <= 11 ? 400 : 200,
      statusText: '',
      text: async () => `request ${number}`,
    }))

    expect(failedIn(outcomes)).toEqual(['a1'])
    expect(client.requests).toHaveLength(25)
    expect(client.batchSizes.at(-1)).toBe(16)
  })

  test('if the request limit keeps the second half from being split, it fails with `rejected`, even if the first half runs out of retries', async () => {
    const judge = refusing([...ids(32), 'a40'])
    const reply: Reply = (request) =>
      request.messageIds[0] === 'a17' ? status(503)(request) : judge(request)
    const { client, outcomes, clock } = await send(64, reply, { maxRetries: 0 })
    await clock.advance(3_600_000)

    // The whole batch is sent, then both halves, and then parts of the first half until the limit of 25 requests.
    expect(client.requests.map(({ messageIds }) => messageIds.length).slice(0, 4)).toEqual([64, 32, 32, 16])
    const codeOf = new Map(outcomes.map(({ id, error }) => [id, error?.code]))
    expect([...codeOf.keys()].sort()).toEqual([...ids(64)].sort())
    expect([codeOf.get('a16'), codeOf.get('a17'), codeOf.get('a32')]).toEqual([
      'rejected',
      'retries_exhausted',
      'retries_exhausted',
    ])
    expect([codeOf.get('a33'), codeOf.get('a64')]).toEqual(['rejected', 'rejected'])
    expect(client.requests.length).toBeLessThanOrEqual(25)
  })

  test.each([2, 3, 4, 7])('of %i events the bad one fails alone', async (count) => {
    for (const bad of ids(count)) {
      const { outcomes } = await send(count, refusing([bad]))

      expect(failedIn(outcomes)).toEqual([bad])
    }
  })

  test('a single bad event takes one request', async () => {
    const { client, outcomes } = await send(1, refusing(['a1']))

    expect(client.requests).toHaveLength(1)
    expect(codesOf(outcomes)).toEqual(['rejected'])
  })

  test('the other events arrive in order, except that a refused first half may arrive after the second', async () => {
    const inSecond = await send(100, refusing(['a80', 'a90']), { maxConcurrentRequests: 1 })
    const inBoth = await send(100, refusing(['a20', 'a80']), { maxConcurrentRequests: 1 })
    const inFirst = await send(100, refusing(['a20']), { maxConcurrentRequests: 1 })

    const others = (...bad: string[]): string[] => ids(100).filter((id) => !bad.includes(id))
    expect(takenIn(inSecond.client.requests, ['a80', 'a90'])).toEqual(others('a80', 'a90'))
    expect(takenIn(inBoth.client.requests, ['a20', 'a80'])).toEqual(others('a20', 'a80'))
    const firstHalf = ids(50).filter((id) => id !== 'a20')
    expect(takenIn(inFirst.client.requests, ['a20'])).toEqual([...ids(100).slice(50), ...firstHalf])
  })

  test('outages and rate limits in between do not change which events fail, and no attempt is counted twice', async () => {
    const bad = ['a7', 'a61']
    const judge = refusing(bad)
    let number = 0
    const reply: Reply = (request) => {
      number++
      if (number % 3 === 0) return status(503)(request)
      if (number % 4 === 0) return status(429, { 'Retry-After': '1' })(request)
      if (number % 11 === 0) return networkError('ECONNRESET')(request)
      return judge(request)
    }
    const { clock, client, enqueue, outcomes } = setUpDelivery({
      settings: { flushAt: 100, maxRetries: 20 },
      replies: [reply],
    })

    enqueue(...ids(100))
    await clock.advance(3_600_000)

    expect(failedIn(outcomes)).toEqual([...bad].sort())
    expect(outcomes).toHaveLength(100)
    const carried = new Map<string, number>()
    for (const { messageIds } of client.requests) {
      for (const id of messageIds) carried.set(id, (carried.get(id) ?? 0) + 1)
    }
    for (const { id, attempts } of outcomes) expect(attempts, id).toBe(carried.get(id))
    expect(clock.timerCount).toBe(0)
  })

  test('X-Retry-Count of a part is the number of times that its events were sent before', async () => {
    const { client } = await send(4, refusing(['a4']))

    expect(
      client.requests.map(({ messageIds, headers }) => [messageIds.length, headers['X-Retry-Count']]),
    ).toEqual([
      [4, undefined],
      [2, '1'],
      // The second half must contain the bad event, so it is halved without being sent.
      [1, '1'],
      [1, '1'],
    ])
  })

  test('the size limit that was learned from a 413 also applies to the parts', async () => {
    const bad = ['a3']
    const judge = refusing(bad)
    const reply: Reply = (request) => (request.batch.length > 10 ? status(413)(request) : judge(request))
    const { clock, enqueue, outcomes } = setUpDelivery({ settings: { flushAt: 100 }, replies: [reply] })

    enqueue(...ids(100).map((id) => createEntry(id, 300)))
    await clock.advance(0)

    expect(failedIn(outcomes)).toEqual(bad)
    expect(outcomes).toHaveLength(100)
  })
})

/** The parts of section 8 of docs/spec.md that are arithmetic: the learnt limit, who is told, the waits, and what is chance. */
import { describe, expect, test } from 'vitest'
import {
  createBatch,
  createService,
  doubleLimit,
  endTrouble,
  failuresToGiveUp,
  halveLimit,
  isInTrouble,
  isToldNow,
  lowerCeiling,
  nextBackoffMs,
  noteDue,
  noteRedeemed,
  noteSingle,
  opensAtMs,
  passFailures,
  passLimited,
  type Service,
  shut,
  troubleOf,
} from '../../src/core/service.ts'
import { DeliveryError } from '../../src/errors/errors.ts'
import { createItem } from '../../src/line/item.ts'

const MOST = { events: 100, bytes: 1_000 }
const create = (): Service =>
  createService(MOST, { maxTotalBackoffDuration: 43_200, maxRateLimitDuration: 43_200 })

function times(count: number, run: () => void): void {
  for (let index = 0; index < count; index++) run()
}

describe('the learnt limit', () => {
  test('is halved down to one event, and doubled up to the settings', () => {
    const service = create()
    halveLimit(service)
    expect(service.limit).toEqual({ events: 50, bytes: 500 })
    times(20, () => halveLimit(service))
    expect(service.limit).toEqual({ events: 1, bytes: 1 })

    doubleLimit(service)
    expect(service.limit).toEqual({ events: 2, bytes: 2 })
    times(9, () => doubleLimit(service))
    expect(service.limit).toEqual({ events: 100, bytes: 1_000 })
  })

  test('has half of what was too large as its ceiling, which rises by a tenth after 20 successes at it', () => {
    const service = create()
    lowerCeiling(service, 80, 600)
    expect(service.limit).toEqual({ events: 40, bytes: 300 })

    halveLimit(service)
    doubleLimit(service)
    times(19, () => doubleLimit(service))
    expect(service.limit).toEqual({ events: 40, bytes: 300 })
    doubleLimit(service)
    expect(service.limit).toEqual({ events: 44, bytes: 330 })
    times(19, () => doubleLimit(service))
    expect(service.ceiling.events).toBe(44)
    times(20 * 30, () => doubleLimit(service))
    expect(service.limit).toEqual(MOST)
  })

  test('begins to count successes again after another request was too large', () => {
    const service = create()
    lowerCeiling(service, 80, 2_000)
    times(19, () => doubleLimit(service))
    lowerCeiling(service, 90, 2_000)
    expect(service.limit.events).toBe(40)
    times(19, () => doubleLimit(service))
    expect(service.limit.events).toBe(40)
  })
})

describe('who waits is told', () => {
  test.each([
    // Failures in a row now, and when the wait began; attempts; told.
    [3, 0, 4, false],
    [4, 0, 4, true],
    [5, 2, 4, true],
    [4, 2, 4, false],
    [9, 9, 4, false],
    [10, 9, 4, true],
    [5, 4, 4, true],
    [1, 0, 1, true],
  ])(
    'after %d failures, %d of them before it waited, with %d attempts: %s',
    (failures, since, attempts, isTold) => {
      expect(isToldNow(failures, since, attempts)).toBe(isTold)
    },
  )

  test('by the place of its event: earlier events first, each once', () => {
    const service = create()
    noteDue(service, 3, 0)
    service.failures = 2
    noteDue(service, 5, 1_000)
    noteDue(service, 5, 2_000)
    expect(service.dues).toEqual([
      { upTo: 3, atMs: 0, failures: 0 },
      { upTo: 5, atMs: 1_000, failures: 2 },
    ])

    service.failures = 3
    passFailures(service, 4)
    expect(service.toldUpTo).toBe(0)
    service.failures = 4
    passFailures(service, 4)
    expect(service.toldUpTo).toBe(3)
    service.failures = 5
    passFailures(service, 4)
    expect(service.toldUpTo).toBe(5)
    noteDue(service, 5, 9_000)
    expect(service.dues).toEqual([])
  })

  test('together with what became due less than 20 ms later, unless a request has failed between', () => {
    const service = create()
    noteDue(service, 1, 1_000)
    noteDue(service, 2, 1_019)
    noteDue(service, 3, 1_020)
    service.failures = 1
    noteDue(service, 4, 1_021)

    expect(service.dues.map(({ upTo }) => upTo)).toEqual([2, 3, 4])
  })

  test('after 10 s of a rate limit', () => {
    const service = create()
    noteDue(service, 1, 0)
    noteDue(service, 2, 5_000)

    passLimited(service, 9_999)
    expect(service.toldUpTo).toBe(0)
    passLimited(service, 10_000)
    expect(service.toldUpTo).toBe(1)
    passLimited(service, 15_000)
    expect(service.toldUpTo).toBe(2)
  })
})

describe('the gate', () => {
  test.each([
    // While somebody waits, from 8 s on: 4 s, and the rest of the wait within 4 s.
    [60_000, false, true, 4_000],
    [57_000, false, true, 5_000],
    [8_000, false, true, 8_000],
    [60_000, false, false, 60_000],
    [60_000, true, true, 60_000],
  ])(
    'with a wait of %d ms, stated: %s, somebody waits: %s, opens after %d ms',
    (waitMs, isStated, isSomebodyWaiting, openMs) => {
      const service = create()
      service.isProbeOut = true
      shut(service, 1_000, waitMs, isStated)

      expect(opensAtMs(service, isSomebodyWaiting)).toBe(1_000 + openMs)
      expect([service.isShut, service.isProbeOut, service.generation]).toEqual([true, false, 1])
    },
  )

  test('waits twice as long after each failure, up to a minute', () => {
    const service = create()
    const waits = Array.from({ length: 9 }, () => nextBackoffMs(service, 0))

    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  test('after the end of the trouble, begins again with the first wait and tells nobody', () => {
    const service = create()
    const error = new DeliveryError('rejected', 'no')
    service.problem = () => error
    expect(troubleOf(service, 'deadline')).toBeUndefined()
    Object.assign(service, { failures: 3, isLimited: true, code: 'auth', isLargeNext: true })
    expect([isInTrouble(service), troubleOf(service, 'deadline')]).toEqual([true, error])
    nextBackoffMs(service, 0)
    noteDue(service, 4, 0)
    service.toldUpTo = 2

    endTrouble(service)

    expect([isInTrouble(service), troubleOf(service, 'deadline')]).toEqual([false, undefined])
    expect(nextBackoffMs(service, 0)).toBe(500)
    expect(service).toMatchObject({ dues: [], toldUpTo: 0, code: undefined, isLargeNext: false })
  })
})

describe('where requests fail at random, an event under suspicion gets more attempts', () => {
  const single = createBatch([createItem('track', 1)], 'line')
  const noteFailures = (service: Service, count: number): void =>
    times(count, () => noteSingle(service, single, true))

  test('none while few single events fail at their first attempt', () => {
    const service = create()
    noteFailures(service, 6)
    expect(service.firstFailures).toBeLessThan(0.25)
    expect(failuresToGiveUp(service)).toBe(0)
  })

  test('so many that one good event in 250 is given up', () => {
    const service = create()
    noteFailures(service, 200)
    expect(0.95 ** failuresToGiveUp(service)).toBeCloseTo(0.004, 6)
    service.firstFailures = 0.7
    expect(0.7 ** failuresToGiveUp(service)).toBeCloseTo(0.004, 6)
    service.firstFailures = 0.3
    expect(0.5 ** failuresToGiveUp(service)).toBeCloseTo(0.004, 6)
  })

  test('also when events that have failed alone get through later', () => {
    const service = create()
    times(2, () => noteRedeemed(service, true))
    expect(failuresToGiveUp(service)).toBe(0)
    noteRedeemed(service, true)
    expect(failuresToGiveUp(service)).toBeGreaterThan(7)
    // One that does not says less.
    times(2, () => noteRedeemed(service, false))
    expect(failuresToGiveUp(service)).toBeGreaterThan(7)
    times(3, () => noteRedeemed(service, false))
    expect(failuresToGiveUp(service)).toBe(0)
  })

  test('as only single events tell that have not failed before, and no second failure in a row', () => {
    const service = create()
    const failed = Object.assign(createItem('track', 2), { failures: 1 })
    for (const batch of [
      createBatch([...single.items, ...single.items], 'line'),
      createBatch(single.items, 'suspect'),
      createBatch([failed], 'line'),
    ]) {
      noteSingle(service, batch, true)
    }
    service.failures = 2
    noteSingle(service, single, true)
    expect(service.firstFailures).toBe(0)
    service.failures = 1
    noteSingle(service, single, true)
    expect(service.firstFailures).toBeCloseTo(1 / 24)
    noteSingle(service, single, false)
    expect(service.firstFailures).toBeCloseTo(23 / 24 ** 2)

    const suspect = Object.assign(createBatch([failed], 'suspect'), { lonelyFailures: 1 })
    noteSingle(service, suspect, true)
    expect(service.redeemed).toBe(0)
    noteSingle(service, suspect, false)
    expect(service.redeemed).toBe(1 / 4)
  })

  test('no longer after full batches were accepted', () => {
    const service = create()
    Object.assign(service, { firstFailures: 0.9, redeemed: 0.9 })
    times(24, () => doubleLimit(service))
    expect(service.firstFailures).toBeCloseTo(0.9 * (23 / 24) ** 24)
    expect(service.redeemed).toBeCloseTo(0.9 * (23 / 24) ** 24)
  })
})

test('a batch that is made of another keeps what that one has been through', () => {
  const failure = () => new DeliveryError('rejected', 'no')
  const of = Object.assign(createBatch([], 'suspect'), {
    isFreeRetryUsed: true,
    isRenewed: true,
    lonelyFailures: 2,
    aloneSinceMs: 7,
    acceptedAtFirst: 3,
    acceptedAtLast: 5,
    ceilingBefore: MOST,
    failure,
    notBeforeMs: 9,
  })

  expect(createBatch([], 'suspect', of)).toEqual({ ...of, notBeforeMs: 0 })
  expect(createBatch([], 'line')).toMatchObject({
    lonelyFailures: 0,
    isFreeRetryUsed: false,
    failure: undefined,
  })
})

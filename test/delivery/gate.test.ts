import { describe, expect, test, vi } from 'vitest'
import { Gate } from '../../src/delivery/gate.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** A clock without jitter: each backoff has its minimum. */
class EvenHost extends FakeClock {
  override random(): number {
    return 0
  }
}

/** The gate holds requests back after a failure or a rate limit. The first that it lets through afterwards is the probe. */
function setUp(maxConcurrent = 4): { gate: Gate; clock: EvenHost } {
  const clock = new EvenHost()
  return { gate: new Gate(maxConcurrent, clock), clock }
}

describe('an open gate', () => {
  test('as many requests may be in flight as the setting says', () => {
    const { gate } = setUp(2)

    gate.enter()
    expect(gate.waitMs()).toBe(0)
    gate.enter()
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
    gate.leave()

    expect(gate.waitMs()).toBe(0)
  })

  test('stays open after a success', () => {
    const { gate } = setUp()
    const pass = gate.enter()

    gate.succeed(pass)

    expect(gate.isOpenFor(pass)).toBe(true)
    expect(gate.waitMs()).toBe(0)
    expect(gate.enter().isProbe).toBe(false)
  })
})

describe('a failure', () => {
  test('shuts the gate for the backoff', () => {
    const { gate, clock } = setUp()

    gate.fail(gate.enter())
    gate.leave()

    expect(gate.waitMs()).toBe(500)
    clock.stall(499)
    expect(gate.waitMs()).toBe(1)
    clock.stall(1)
    expect(gate.waitMs()).toBe(0)
  })

  test('sets pausedMs, which shows how long the gate stays shut', () => {
    const { gate, clock } = setUp()
    const pass = gate.enter()
    expect(gate.pausedMs).toBe(0)

    gate.fail(pass)

    expect(gate.pausedMs).toBe(500)
    clock.stall(200)
    expect(gate.pausedMs).toBe(300)
    clock.stall(400)
    expect(gate.pausedMs).toBe(0)
  })

  test('onPause is called for each wait, even one of 1 ms, but not for a wait of 0', () => {
    const onPause = vi.fn()
    const gate = new Gate(4, new EvenHost(), onPause)

    gate.rest(gate.enter(), 0)
    gate.rest(gate.enter(), 1)

    expect(onPause.mock.calls).toEqual([[1]])
  })

  test('doubles the backoff when it follows another failure', () => {
    const { gate, clock } = setUp()
    const waits: number[] = []

    for (let failure = 0; failure < 9; failure++) {
      gate.fail(gate.enter())
      gate.leave()
      waits.push(gate.waitMs())
      clock.stall(gate.waitMs())
    }

    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000])
  })

  test('does not increase the backoff if another failed request was in flight at the same time', () => {
    const { gate } = setUp()
    const passes = [gate.enter(), gate.enter(), gate.enter(), gate.enter()]

    for (const pass of passes) {
      gate.fail(pass)
      gate.leave()
    }

    expect(gate.waitMs()).toBe(500)
  })

  test.each([
    ['longer than the backoff', 7_000, 7_000],
    ['shorter than the backoff', 100, 500],
    ['zero', 0, 500],
  ])('shuts the gate for the longer of backoff and minimum: a minimum %s', (_label, floorMs, waitMs) => {
    const { gate } = setUp()

    gate.fail(gate.enter(), floorMs)
    gate.leave()

    expect(gate.waitMs()).toBe(waitMs)
  })

  test('extends the wait of another failure to its own minimum, but never shortens it', () => {
    const { gate } = setUp()
    const passes = [gate.enter(), gate.enter(), gate.enter()] as const

    gate.fail(passes[0])
    gate.fail(passes[1], 9_000)
    gate.fail(passes[2], 3_000)
    for (const _ of passes) gate.leave()

    expect(gate.waitMs()).toBe(9_000)
  })
})

describe('the probe', () => {
  test('is sent alone, and its success admits the other requests', () => {
    const { gate, clock } = setUp()
    gate.fail(gate.enter())
    gate.leave()
    clock.stall(500)

    const probe = gate.enter()

    expect(probe.isProbe).toBe(true)
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
    gate.succeed(probe)
    expect(gate.waitMs()).toBe(0)
    expect(gate.enter().isProbe).toBe(false)
  })

  test('resets the backoff when it succeeds', () => {
    const { gate, clock } = setUp()
    gate.fail(gate.enter())
    clock.stall(500)
    gate.fail(gate.enter())
    clock.stall(1_000)
    gate.succeed(gate.enter())

    gate.fail(gate.enter())

    clock.stall(499)
    gate.leave()
    expect(gate.waitMs()).toBe(1)
  })

  test('shuts the gate again when it fails, and another probe is sent first', () => {
    const { gate, clock } = setUp()
    gate.fail(gate.enter())
    gate.leave()
    clock.stall(500)

    gate.fail(gate.enter())
    gate.leave()

    expect(gate.waitMs()).toBe(1_000)
    clock.stall(1_000)
    expect(gate.waitMs()).toBe(0)
    expect(gate.enter().isProbe).toBe(true)
  })

  test('a late success from before the outage does not open the gate', () => {
    const { gate } = setUp()
    const early = gate.enter()
    gate.fail(gate.enter())

    gate.succeed(early)

    expect(gate.waitMs()).toBe(500)
  })

  test('a late failure from before the outage does not affect the probe in flight', () => {
    const { gate, clock } = setUp()
    const early = gate.enter()
    gate.fail(gate.enter())
    clock.stall(500)
    const probe = gate.enter()

    gate.fail(early)

    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
    gate.succeed(probe)
    expect(gate.enter().isProbe).toBe(false)
  })

  test('is sent at once after a request whose result says nothing about the service', () => {
    const { gate } = setUp()
    const pass = gate.enter()

    gate.probe(pass)
    gate.leave()

    expect(gate.waitMs()).toBe(0)
    expect(gate.enter().isProbe).toBe(true)
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('a rest that the service asks for', () => {
  test('delays all requests for this long, and then one request is sent first', () => {
    const { gate, clock } = setUp()

    gate.rest(gate.enter(), 5_000)
    gate.leave()

    expect(gate.waitMs()).toBe(5_000)
    clock.stall(5_000)
    expect(gate.enter().isProbe).toBe(true)
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
  })

  test('is not a failure: the backoff does not grow', () => {
    const { gate, clock } = setUp()
    for (let times = 0; times < 5; times++) {
      gate.rest(gate.enter(), 1_000)
      gate.leave()
      clock.stall(1_000)
    }

    gate.fail(gate.enter())
    gate.leave()

    expect(gate.waitMs()).toBe(500)
  })

  test('is the longest of several at the same time', () => {
    const { gate } = setUp()
    const passes = [gate.enter(), gate.enter(), gate.enter()] as const

    gate.rest(passes[0], 2_000)
    gate.rest(passes[1], 5_000)
    gate.rest(passes[2], 1_000)
    for (const _ of passes) gate.leave()

    expect(gate.waitMs()).toBe(5_000)
  })
})

describe('a rate limit', () => {
  /** How many requests may be in flight once the gate is open. */
  function room(gate: Gate): number {
    let count = 0
    for (; gate.waitMs() === 0; count++) gate.enter()
    for (let left = count; left > 0; left--) gate.leave()
    return count
  }

  function succeed(gate: Gate, times: number): void {
    for (let time = 0; time < times; time++) {
      gate.succeed(gate.enter())
      gate.leave()
    }
  }

  /** Reaches the rate limit, waits, and reports the successes. The first success opens the gate. */
  function meetLimit({ gate, clock }: ReturnType<typeof setUp>, successes: number): void {
    gate.limit(gate.enter(), 1_000)
    gate.leave()
    expect(gate.waitMs()).toBe(1_000)
    clock.stall(1_000)
    succeed(gate, successes)
  }

  test('that is reached once leaves the number of concurrent requests as it was', () => {
    const one = setUp(4)

    meetLimit(one, 1)

    expect(room(one.gate)).toBe(4)
  })

  test('that is reached again and again halves the number, down to one', () => {
    const one = setUp(4)
    const rooms: number[] = []

    for (let time = 0; time < 5; time++) {
      meetLimit(one, 5)
      rooms.push(room(one.gate))
    }

    expect(rooms).toEqual([4, 2, 1, 1, 1])
  })

  test('that is reached again after 20 successes counts as the first time', () => {
    const one = setUp(4)

    for (let time = 0; time < 5; time++) meetLimit(one, 20)

    expect(room(one.gate)).toBe(4)
  })

  test('that is reached several times at once counts once', () => {
    const one = setUp(8)
    const { gate, clock } = one
    meetLimit(one, 1)
    const passes = [gate.enter(), gate.enter(), gate.enter()]

    for (const pass of passes) {
      gate.limit(pass, 1_000)
      gate.leave()
    }
    clock.stall(1_000)
    succeed(gate, 1)

    expect(room(gate)).toBe(4)
  })

  test('is forgotten: every 20 successes allow one more request at a time, up to the setting', () => {
    const one = setUp(4)
    for (let time = 0; time < 3; time++) meetLimit(one, 1)
    const rooms = [room(one.gate)]

    for (let time = 0; time < 5; time++) {
      succeed(one.gate, time === 0 ? 19 : 20)
      rooms.push(room(one.gate))
    }

    expect(rooms).toEqual([1, 2, 3, 4, 4, 4])
  })

  test('is forgotten step by step: the count of successes begins again after each step', () => {
    const one = setUp(4)
    for (let time = 0; time < 3; time++) meetLimit(one, 1)
    const rooms: number[] = []

    for (const times of [19, 19, 1, 19, 1]) {
      succeed(one.gate, times)
      rooms.push(room(one.gate))
    }

    expect(rooms).toEqual([2, 2, 3, 3, 4])
  })
})

test('a request from before a failure does not end the wait when its result says nothing about the service', () => {
  const { gate } = setUp()
  const early = gate.enter()
  gate.fail(gate.enter(), 30_000)
  const { pausedMs } = gate

  gate.probe(early)

  expect(pausedMs).toBeGreaterThanOrEqual(30_000)
  expect(gate.pausedMs).toBe(pausedMs)
})

describe('a response to a request from before an outage that is over', () => {
  /** A request that has been in flight since before the gate shut and opened again. */
  function recovered() {
    const { gate, clock } = setUp()
    const early = gate.enter()
    gate.fail(gate.enter())
    gate.leave()
    clock.stall(500)
    gate.succeed(gate.enter())
    gate.leave()
    return { gate, early }
  }

  test('holds everything back when it asks for a rest', () => {
    const { gate, early } = recovered()

    gate.rest(early, 5_000)
    gate.leave()

    expect(gate.waitMs()).toBe(5_000)
  })

  test('does not cause a request at once when it is a failure', () => {
    const { gate, early } = recovered()

    gate.fail(early)
    gate.leave()

    expect(gate.waitMs()).toBeGreaterThanOrEqual(500)
  })

  test('changes nothing when it is a success', () => {
    const { gate, early } = recovered()

    gate.succeed(early)
    gate.leave()

    expect(gate.waitMs()).toBe(0)
  })

  test('gets no immediate retry, unlike a connection that is lost without an outage', () => {
    const { gate, early } = recovered()

    expect(gate.isOpenFor(early)).toBe(false)
  })
})

import { describe, expect, test, vi } from 'vitest'
import { Gate } from '../../src/delivery/gate.ts'
import { FakeClock } from '../support/fake-clock.ts'

/** Jitter is left out: each backoff is the least that it can be. */
class EvenHost extends FakeClock {
  override random(): number {
    return 0
  }
}

function setUp(maxConcurrent = 4): { gate: Gate; clock: EvenHost } {
  const clock = new EvenHost()
  return { gate: new Gate(maxConcurrent, clock), clock }
}

describe('an open gate', () => {
  test('as many requests may go side by side as the setting says', () => {
    const { gate } = setUp(2)

    gate.enter()
    expect(gate.waitMs()).toBe(0)
    gate.enter()
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
    gate.leave()

    expect(gate.waitMs()).toBe(0)
  })

  test('a success leaves it open', () => {
    const { gate } = setUp()
    const pass = gate.enter()

    gate.succeed(pass)

    expect(gate.isOpenFor(pass)).toBe(true)
    expect(gate.waitMs()).toBe(0)
    expect(gate.enter().isProbe).toBe(false)
  })
})

describe('a failure', () => {
  test('it shuts the gate for the backoff', () => {
    const { gate, clock } = setUp()

    gate.fail(gate.enter())
    gate.leave()

    expect(gate.waitMs()).toBe(500)
    clock.stall(499)
    expect(gate.waitMs()).toBe(1)
    clock.stall(1)
    expect(gate.waitMs()).toBe(0)
  })

  test('how long it stays shut can be seen', () => {
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

  test('each wait is told of, however short, and a gate that opens at once is not', () => {
    const onPause = vi.fn()
    const gate = new Gate(4, new EvenHost(), onPause)

    gate.rest(gate.enter(), 0)
    gate.rest(gate.enter(), 1)

    expect(onPause.mock.calls).toEqual([[1]])
  })

  test('the backoff doubles with each failure in a row', () => {
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

  test('failures side by side count as one', () => {
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
  ])('a floor that is %s gives the longer of the two', (_label, floorMs, waitMs) => {
    const { gate } = setUp()

    gate.fail(gate.enter(), floorMs)
    gate.leave()

    expect(gate.waitMs()).toBe(waitMs)
  })

  test('the floor of one that failed beside the first extends the wait, and never shortens it', () => {
    const { gate } = setUp()
    const passes = [gate.enter(), gate.enter(), gate.enter()] as const

    gate.fail(passes[0])
    gate.fail(passes[1], 9_000)
    gate.fail(passes[2], 3_000)
    for (const _ of passes) gate.leave()

    expect(gate.waitMs()).toBe(9_000)
  })
})

describe('the request that goes first', () => {
  test('it goes alone, and its success lets the others through', () => {
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

  test('its success starts the backoff anew', () => {
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

  test('its failure shuts the gate again, and another goes first', () => {
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

  test('a late failure from before the outage takes nothing from the probe that is out', () => {
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

  test('a request that is only a guess goes first without a wait', () => {
    const { gate } = setUp()
    const pass = gate.enter()

    gate.probe(pass)
    gate.leave()

    expect(gate.waitMs()).toBe(0)
    expect(gate.enter().isProbe).toBe(true)
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
  })
})

describe('a rest', () => {
  test('everything waits for as long as the service says, and then one request goes first', () => {
    const { gate, clock } = setUp()

    gate.rest(gate.enter(), 5_000)
    gate.leave()

    expect(gate.waitMs()).toBe(5_000)
    clock.stall(5_000)
    expect(gate.enter().isProbe).toBe(true)
    expect(gate.waitMs()).toBe(Number.POSITIVE_INFINITY)
  })

  test('it is no failure: the backoff does not grow', () => {
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

  test('of several side by side the longest counts', () => {
    const { gate } = setUp()
    const passes = [gate.enter(), gate.enter(), gate.enter()] as const

    gate.rest(passes[0], 2_000)
    gate.rest(passes[1], 5_000)
    gate.rest(passes[2], 1_000)
    for (const _ of passes) gate.leave()

    expect(gate.waitMs()).toBe(5_000)
  })
})

describe('a limit', () => {
  /** How many requests may go side by side, once the gate is open. */
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

  /** A limit that is met, waited for, and followed by `successes` (the first of them opens the gate). */
  function meetLimit({ gate, clock }: ReturnType<typeof setUp>, successes: number): void {
    gate.limit(gate.enter(), 1_000)
    gate.leave()
    expect(gate.waitMs()).toBe(1_000)
    clock.stall(1_000)
    succeed(gate, successes)
  }

  test('that is met once leaves as many requests side by side as there were', () => {
    const one = setUp(4)

    meetLimit(one, 1)

    expect(room(one.gate)).toBe(4)
  })

  test('that is met again and again halves them, down to one', () => {
    const one = setUp(4)
    const rooms: number[] = []

    for (let time = 0; time < 5; time++) {
      meetLimit(one, 5)
      rooms.push(room(one.gate))
    }

    expect(rooms).toEqual([4, 2, 1, 1, 1])
  })

  test('that is met again after 20 successes is news', () => {
    const one = setUp(4)

    for (let time = 0; time < 5; time++) meetLimit(one, 20)

    expect(room(one.gate)).toBe(4)
  })

  test('of several side by side counts once', () => {
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

  test('is forgotten: 20 successes allow one request more, up to the setting', () => {
    const one = setUp(4)
    for (let time = 0; time < 3; time++) meetLimit(one, 1)
    const rooms = [room(one.gate)]

    for (let time = 0; time < 5; time++) {
      succeed(one.gate, time === 0 ? 19 : 20)
      rooms.push(room(one.gate))
    }

    expect(rooms).toEqual([1, 2, 3, 4, 4, 4])
  })
})

describe('an answer from before an outage that is over', () => {
  /** A request that has been under way since before the gate shut and opened again. */
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

  test('everything waits when it asks for a rest', () => {
    const { gate, early } = recovered()

    gate.rest(early, 5_000)
    gate.leave()

    expect(gate.waitMs()).toBe(5_000)
  })

  test('a failure is not followed by a request at once', () => {
    const { gate, early } = recovered()

    gate.fail(early)
    gate.leave()

    expect(gate.waitMs()).toBeGreaterThanOrEqual(500)
  })

  test('a success changes nothing', () => {
    const { gate, early } = recovered()

    gate.succeed(early)
    gate.leave()

    expect(gate.waitMs()).toBe(0)
  })

  test('it is not the one whose connection may have been stale', () => {
    const { gate, early } = recovered()

    expect(gate.isOpenFor(early)).toBe(false)
  })
})

import { describe, expect, test } from 'vitest'
import type { TokenOutage } from '../../src/auth/credentials.ts'
import {
  createTokenState,
  OAuthCredentials,
  type OAuthOptions,
  type TokenState,
} from '../../src/auth/oauth.ts'
import type { TokenResult } from '../../src/auth/token-client.ts'
import type { DeliveryError } from '../../src/errors/errors.ts'
import { FakeClock, settled } from '../support/fake-clock.ts'

const HOUR = 3_600_000

/** Each request waits until the test answers it. */
class Tokens {
  readonly clock: FakeClock
  readonly requests: {
    atMs: number
    nowMs: number
    isAborted: boolean
    answer: (answer: TokenResult) => void
  }[] = []
  readonly credentials: OAuthCredentials
  readonly #options: OAuthOptions
  readonly #known: TokenState
  /** If set, its result answers each request at once. */
  auto: (() => TokenResult) | undefined

  constructor(options: Partial<OAuthOptions> = {}, seed = 1) {
    this.clock = new FakeClock(undefined, seed)
    this.#known = createTokenState(this.clock)
    this.#options = {
      request: (nowMs) => {
        let answer: (answer: TokenResult) => void = () => {}
        const promise = new Promise<TokenResult>((resolve) => {
          answer = resolve
        })
        const request = { atMs: this.clock.monotonic(), nowMs, isAborted: false, answer }
        this.requests.push(request)
        if (this.auto !== undefined) answer(this.auto())
        return {
          result: promise,
          abort() {
            request.isAborted = true
          },
        }
      },
      serverName: 'oauth2.example.test',
      timeoutMs: 10_000,
      clock: this.clock,
      ...options,
    }
    this.credentials = this.another()
  }

  /** Credentials of another client with the same state. */
  another(): OAuthCredentials {
    return new OAuthCredentials(this.#options, this.#known)
  }

  async answer(answer: TokenResult): Promise<void> {
    this.requests.at(-1)?.answer(answer)
    await settled()
  }

  async start(lifetimeMs = HOUR): Promise<void> {
    void this.credentials.authorization()
    await this.answer(token('first', lifetimeMs))
  }

  get gapsMs(): number[] {
    return this.requests.slice(1).map(({ atMs }, index) => atMs - (this.requests[index]?.atMs ?? 0))
  }
}

function token(value: string, lifetimeMs = HOUR): TokenResult {
  return { outcome: 'token', token: value, lifetimeMs }
}

function retry(waitMs?: number, isLimited = false): TokenResult {
  return {
    outcome: 'retry',
    failure: { message: '[503] Service Unavailable', status: 503 },
    waitMs,
    isLimited,
  }
}

function refusal(dateMs?: number, isClockBlamed = false): TokenResult {
  const failure = { message: '[400] Bad Request: invalid_client: unknown', status: 400 }
  return { outcome: 'refused', failure, dateMs, isClockBlamed }
}

interface Seen {
  value?: string
  /** With a failure of the token server, the error of an event that is told then. */
  error?: DeliveryError
  outage?: Pick<TokenOutage, 'action' | 'waitMs'>
}

/** The result is empty until the promise settles. */
function watch(given: string | Promise<string | TokenOutage>): Seen {
  const seen: Seen = {}
  Promise.resolve(given).then(
    (value) => {
      if (typeof value === 'string') seen.value = value
      else {
        seen.outage = value
        seen.error = value.toError('retries_exhausted')
      }
    },
    (error) => {
      seen.error = error
    },
  )
  return seen
}

describe('getting a token', () => {
  test('no request is made before a token is needed', async () => {
    const tokens = new Tokens()

    await tokens.clock.advance(HOUR)

    expect(tokens.requests).toHaveLength(0)
    expect(tokens.clock.timerCount).toBe(0)
  })

  test('F55: fifty callers that need the first token share one request', async () => {
    const tokens = new Tokens()
    const given = Array.from({ length: 50 }, () => tokens.credentials.authorization())
    const waits = given.map(watch)

    await tokens.clock.advance(150)
    await tokens.answer(token('first'))

    expect(tokens.requests).toHaveLength(1)
    // On Cloudflare Workers, each caller needs a promise of its own.
    expect(new Set(given).size).toBe(50)
    expect(waits.every(({ value }) => value === 'Bearer first')).toBe(true)
  })
})

describe('renewing a token', () => {
  test('at half its life a new token is fetched, while the old one is still used', async () => {
    const tokens = new Tokens()
    await tokens.start(3_600_000)

    await tokens.clock.advance(1_799_999)
    expect(tokens.requests).toHaveLength(1)
    await tokens.clock.advance(1)
    expect(tokens.requests).toHaveLength(2)
    expect(tokens.credentials.authorization()).toBe('Bearer first')

    await tokens.answer(token('second'))
    expect(tokens.credentials.authorization()).toBe('Bearer second')
  })

  test('F51: with tokens that are valid for 2 s, ten batches a second cause one token request a second', async () => {
    const tokens = new Tokens()
    let count = 0
    tokens.auto = () => token(`token-${++count}`, 2_000)
    watch(tokens.credentials.authorization())
    await settled()

    for (let batch = 0; batch < 600; batch++) {
      expect(tokens.credentials.authorization()).toMatch(/^Bearer token-/)
      await tokens.clock.advance(100)
    }

    expect(tokens.requests.length).toBeLessThanOrEqual(61)
    expect(tokens.requests.length).toBeGreaterThan(50)
  })

  test('a client that sends nothing lets its token expire, and gets a new one when it needs one', async () => {
    const tokens = new Tokens()
    await tokens.start(60_000)
    await tokens.clock.advance(30_000)
    await tokens.answer(token('second', 60_000))

    await tokens.clock.advance(10 * HOUR)

    expect(tokens.requests).toHaveLength(2)
    expect(tokens.clock.timerCount).toBe(0)
    const wait = watch(tokens.credentials.authorization())
    await tokens.answer(token('third'))
    expect(wait.value).toBe('Bearer third')
  })

  test('a token is not used in the last seconds of its life', async () => {
    const tokens = new Tokens()
    await tokens.start(60_000)
    await tokens.clock.advance(49_999)
    expect(tokens.credentials.authorization()).toBe('Bearer first')

    await tokens.clock.advance(1)

    expect(tokens.credentials.authorization()).toBeInstanceOf(Promise)
  })

  test.each([
    ['10^10 s', 1e13],
    ['2^31 s', 2 ** 31 * 1_000],
  ])(
    'a token with a life of %s is renewed after a day, with a timer that every runtime can set',
    async (_, lifetimeMs) => {
      const tokens = new Tokens()
      await tokens.start(lifetimeMs)

      await tokens.clock.advance(24 * HOUR - 1)
      expect(tokens.requests).toHaveLength(1)
      await tokens.clock.advance(1)

      expect(tokens.requests).toHaveLength(2)
    },
  )

  test.each([0, -1_000])(
    'a token with a life of %d ms is used once, and fetched at most once a second',
    async (lifetimeMs) => {
      const tokens = new Tokens()
      let count = 0
      tokens.auto = () => token(`token-${++count}`, lifetimeMs)
      const waits: { value?: string }[] = []
      for (let batch = 0; batch < 5; batch++) {
        const wait = watch(tokens.credentials.authorization())
        waits.push(wait)
        while (wait.value === undefined) await tokens.clock.advance(10)
      }

      expect(waits.map(({ value }) => value)).toEqual(
        [1, 2, 3, 4, 5].map((number) => `Bearer token-${number}`),
      )
      expect(Math.min(...tokens.gapsMs)).toBeGreaterThanOrEqual(1_000)
    },
  )

  test('a jump of the local clock has no effect', async () => {
    const tokens = new Tokens()
    await tokens.start(3_600_000)

    tokens.clock.jump(-HOUR)
    await tokens.clock.advance(60_000)
    tokens.clock.jump(20 * HOUR)
    await tokens.clock.advance(60_000)

    expect(tokens.credentials.authorization()).toBe('Bearer first')
    expect(tokens.requests).toHaveLength(1)
  })

  test('a failed renewal leaves the token as it is, and is repeated', async () => {
    const tokens = new Tokens()
    await tokens.start(3_600_000)
    await tokens.clock.advance(1_800_000)

    await tokens.answer(retry())
    expect(tokens.credentials.authorization()).toBe('Bearer first')
    await tokens.clock.advance(1_000)
    await tokens.answer(token('second'))

    expect(tokens.credentials.authorization()).toBe('Bearer second')
  })

  test('after a refused renewal the token is used until it expires', async () => {
    const tokens = new Tokens()
    await tokens.start(100_000)
    await tokens.clock.advance(50_000)
    await tokens.answer(refusal())

    expect(tokens.credentials.authorization()).toBe('Bearer first')
    await tokens.clock.advance(45_000)

    const wait = watch(tokens.credentials.authorization())
    await settled()
    expect(wait.error?.code).toBe('auth')
  })

  // On Cloudflare Workers, a promise that one request waits for never settles after that request has ended.
  test('a caller that waits for a request that never settles makes a new request itself', async () => {
    const tokens = new Tokens()
    watch(tokens.credentials.authorization())
    await tokens.clock.advance(5_000)
    const second = watch(tokens.credentials.authorization())

    await tokens.clock.advance(10_000)
    expect(tokens.requests).toHaveLength(2)
    await tokens.answer(token('newer'))

    expect(second.value).toBe('Bearer newer')
  })

  test('a late response with a token does not replace a newer token', async () => {
    const tokens = new Tokens()
    watch(tokens.credentials.authorization())
    // A request counts as lost 5 s after its time limit.
    await tokens.clock.advance(15_000)
    watch(tokens.credentials.authorization())
    expect(tokens.requests).toHaveLength(2)

    await tokens.answer(token('newer'))
    tokens.requests[0]?.answer(token('older'))
    await settled()

    expect(tokens.credentials.authorization()).toBe('Bearer newer')
  })
})

describe('a token that the API refuses', () => {
  test('causes one token request, even if several batches were sent with it', async () => {
    const tokens = new Tokens()
    await tokens.start()

    const answers = [1, 2, 3, 4].map(() => tokens.credentials.onUnauthorized('Bearer first'))
    const waits = [1, 2, 3, 4].map(() => watch(tokens.credentials.authorization()))
    await tokens.answer(token('second'))

    expect(answers).toEqual([true, true, true, true])
    expect(tokens.requests).toHaveLength(2)
    expect(waits.every(({ value }) => value === 'Bearer second')).toBe(true)
    // A fifth batch with the old token is refused late: the new token is kept.
    expect(tokens.credentials.onUnauthorized('Bearer first')).toBe(true)
    expect(tokens.credentials.authorization()).toBe('Bearer second')
  })

  test('causes no token request for 30 s if it is new and was never accepted', async () => {
    const tokens = new Tokens()
    await tokens.start()
    tokens.credentials.onUnauthorized('Bearer first')
    watch(tokens.credentials.authorization())
    await tokens.answer(token('second'))

    expect(tokens.credentials.onUnauthorized('Bearer second')).toBe(false)
    await tokens.clock.advance(29_999)
    expect(tokens.credentials.onUnauthorized('Bearer second')).toBe(false)
    expect(tokens.requests).toHaveLength(2)
    await tokens.clock.advance(1)

    expect(tokens.credentials.onUnauthorized('Bearer second')).toBe(true)
  })

  test('is replaced at once if it was accepted before, at most four times a second', async () => {
    const tokens = new Tokens()
    await tokens.start()
    tokens.credentials.onUnauthorized('Bearer first')
    watch(tokens.credentials.authorization())
    await tokens.answer(token('second'))
    tokens.credentials.onAccepted('Bearer second')

    expect(tokens.credentials.onUnauthorized('Bearer second')).toBe(true)
    const wait = watch(tokens.credentials.authorization())
    await tokens.clock.advance(249)
    expect(tokens.requests).toHaveLength(2)
    await tokens.clock.advance(1)
    expect(tokens.requests).toHaveLength(3)
    await tokens.answer(token('third'))

    expect(wait.value).toBe('Bearer third')
  })
})

describe('a token server that fails', () => {
  test('F56: gets at most 15 requests in a minute, with growing waits, however often a token is needed', async () => {
    for (let seed = 1; seed <= 50; seed++) {
      const tokens = new Tokens({}, seed)
      tokens.auto = () => retry()
      for (let second = 0; second < 60; second++) {
        const wait = watch(tokens.credentials.authorization())
        await tokens.clock.advance(1_000)
        if (second === 0) expect(wait).toMatchObject({ outage: { action: 'retry' }, error: { status: 503 } })
        if (second === 4) expect(tokens.requests.length).toBeLessThanOrEqual(8)
      }

      expect(tokens.requests.length).toBeLessThanOrEqual(15)
      expect(tokens.requests.length).toBeGreaterThanOrEqual(8)
      tokens.auto = () => token('at last')
      await tokens.clock.advance(60_000)
      const wait = watch(tokens.credentials.authorization())
      await settled()
      expect(wait.value).toBe('Bearer at last')
    }
  })

  test('who needs a token gets the failure and the rest of its wait, or waits for a request that is due within 8 s', async () => {
    const tokens = new Tokens()
    const first = watch(tokens.credentials.authorization())
    await tokens.answer(retry(20_000))
    expect(first.error?.message).toBe('no access token from oauth2.example.test: [503] Service Unavailable')
    await tokens.clock.advance(5_000)
    const early = watch(tokens.credentials.authorization())
    await tokens.clock.advance(7_000)
    const late = watch(tokens.credentials.authorization())
    await settled()
    expect([early.outage, late]).toEqual([expect.objectContaining({ action: 'retry', waitMs: 15_000 }), {}])
    tokens.auto = () => token('second')
    await tokens.clock.advance(8_000)

    expect(late.value).toBe('Bearer second')
    expect(tokens.requests).toHaveLength(2)
  })

  test('gets the wait that it asks for with 429, which is a rate limit of the events too', async () => {
    const tokens = new Tokens()
    const wait = watch(tokens.credentials.authorization())
    await tokens.answer(retry(120_000, true))
    expect(wait.outage).toMatchObject({ action: 'limited', waitMs: 120_000 })

    await tokens.clock.advance(119_999)
    const late = watch(tokens.credentials.authorization())
    expect(tokens.requests).toHaveLength(1)
    await tokens.clock.advance(1)
    await tokens.answer(token('rested'))

    expect(late.value).toBe('Bearer rested')
  })

  test('gets at most 15 requests in a minute, even if it sends 429 with a wait of a second for ever', async () => {
    const tokens = new Tokens()
    tokens.auto = () => retry(1_000, true)
    for (let second = 0; second < 60; second++) {
      watch(tokens.credentials.authorization())
      await tokens.clock.advance(1_000)
    }

    expect(tokens.requests.length).toBeLessThanOrEqual(15)
  })

  test('gets no more requests once the token has expired, unless somebody needs one', async () => {
    const tokens = new Tokens()
    watch(tokens.credentials.authorization())
    await tokens.answer(token('short', 4_000))
    tokens.auto = () => retry()
    await tokens.clock.advance(300_000)

    expect(tokens.requests.length).toBeLessThanOrEqual(4)
  })
})

describe('a token request that the server refuses', () => {
  test('F59: is not repeated for a minute, and callers get the reason at once', async () => {
    const tokens = new Tokens()
    tokens.auto = () => refusal()
    const waits = [watch(tokens.credentials.authorization())]
    await tokens.clock.advance(30_000)
    waits.push(watch(tokens.credentials.authorization()))
    await tokens.clock.advance(29_999)
    waits.push(watch(tokens.credentials.authorization()))
    await settled()

    expect(tokens.requests).toHaveLength(1)
    for (const { error } of waits) {
      expect(error).toMatchObject({ code: 'auth', status: 400 })
      expect(error?.message).toContain('invalid_client: unknown')
    }
  })

  test('is repeated after the minute, and a token ends the refusal', async () => {
    const tokens = new Tokens()
    watch(tokens.credentials.authorization())
    await tokens.answer(refusal())
    await tokens.clock.advance(60_000)

    const wait = watch(tokens.credentials.authorization())
    await tokens.answer(token('second'))

    expect(wait.value).toBe('Bearer second')
  })

  test('F60: is repeated at once with the time of the server, if the clock was wrong', async () => {
    const tokens = new Tokens()
    const serverMs = tokens.clock.now() + HOUR
    const wait = watch(tokens.credentials.authorization())
    await tokens.answer(refusal(serverMs, true))

    expect(tokens.requests).toHaveLength(2)
    expect(tokens.requests[1]?.nowMs).toBe(serverMs)
    await tokens.answer(token('second'))
    expect(wait.value).toBe('Bearer second')
  })

  test('is repeated with another correction, if the server has accepted an earlier one', async () => {
    const tokens = new Tokens()
    watch(tokens.credentials.authorization())
    await tokens.answer(refusal(tokens.clock.now() + HOUR, true))
    await tokens.answer(token('second', 10_000))
    tokens.clock.jump(-HOUR)
    await tokens.clock.advance(10_000)

    const wait = watch(tokens.credentials.authorization())
    await tokens.answer(refusal(tokens.clock.now() + 2 * HOUR, true))
    await tokens.answer(token('third'))

    expect(wait.value).toBe('Bearer third')
  })

  test('is repeated only once in a row because of the clock', async () => {
    const tokens = new Tokens()
    tokens.auto = () => refusal(tokens.clock.now() + HOUR, true)
    const wait = watch(tokens.credentials.authorization())

    await tokens.clock.advance(59_000)

    expect(tokens.requests).toHaveLength(2)
    expect(wait.error?.code).toBe('auth')
  })
})

describe('closing', () => {
  test('aborts a request in flight, rejects the waiting callers, and leaves no timer', async () => {
    const tokens = new Tokens()
    const wait = watch(tokens.credentials.authorization())
    await tokens.clock.advance(10)

    tokens.credentials.close()
    await tokens.answer(token('too late'))

    expect(tokens.requests[0]?.isAborted).toBe(true)
    expect(wait.error?.code).toBe('auth')
    expect(tokens.clock.timerCount).toBe(0)
  })

  test('by abort() ends the request in flight and rejects the waiting callers, but a later caller can still get a token', async () => {
    const tokens = new Tokens()
    const wait = watch(tokens.credentials.authorization())
    await settled()

    tokens.credentials.abort()
    await settled()

    expect(tokens.requests[0]?.isAborted).toBe(true)
    expect(wait.error?.code).toBe('auth')
    expect(tokens.clock.timerCount).toBe(0)
    const later = watch(tokens.credentials.authorization())
    await tokens.answer(token('second'))
    expect(later.value).toBe('Bearer second')
  })

  test('between two attempts leaves no timer and forgets the token', async () => {
    const tokens = new Tokens()
    await tokens.start()
    await tokens.clock.advance(HOUR / 2)
    await tokens.answer(retry())

    tokens.credentials.close()

    expect(tokens.clock.timerCount).toBe(0)
    await tokens.clock.advance(HOUR)
    expect(tokens.requests).toHaveLength(2)
    const wait = watch(tokens.credentials.authorization())
    await settled()
    expect(wait.error?.message).toContain('the client was closed')
  })
})

describe('a trial (tryOnce)', () => {
  test('uses the present token, without a request', async () => {
    const tokens = new Tokens()
    await tokens.start()

    expect(await tokens.credentials.tryOnce()).toBe('Bearer first')
    expect(tokens.requests).toHaveLength(1)
  })

  test('makes one request, keeps nothing, and sets no timer', async () => {
    const tokens = new Tokens()
    const trial = tokens.credentials.tryOnce()
    await tokens.answer(token('trial', HOUR))

    expect(await trial).toBe('Bearer trial')
    expect(tokens.clock.timerCount).toBe(0)
    void tokens.credentials.authorization()
    expect(tokens.requests).toHaveLength(2)
  })

  test('is not repeated when the token server is down, and has no other effect', async () => {
    const tokens = new Tokens()
    tokens.auto = () => ({
      outcome: 'retry',
      failure: { message: '[503] Service Unavailable' },
      waitMs: undefined,
      isLimited: false,
    })

    await expect(tokens.credentials.tryOnce()).rejects.toMatchObject({
      code: 'auth',
      message: 'no access token from oauth2.example.test: [503] Service Unavailable',
    })
    await tokens.clock.advance(HOUR)

    expect(tokens.requests).toHaveLength(1)
  })

  test('is aborted by close, and so is a second trial at the same time', async () => {
    const tokens = new Tokens()
    const trials = [tokens.credentials.tryOnce(), tokens.credentials.tryOnce()]

    tokens.credentials.close()
    expect(tokens.requests.map(({ isAborted }) => isAborted)).toEqual([true, true])
    for (const request of tokens.requests) request.answer(retry())

    for (const trial of trials) await expect(trial).rejects.toThrow('the client was closed')
    await expect(tokens.credentials.tryOnce()).rejects.toThrow('the client was closed')
  })

  // docs/faults.md, row F63.
  test.each(['the trial', 'the request'])(
    'runs beside a token request while the clock is wrong: both are repeated with the corrected time, %s first',
    async (first) => {
      const tokens = new Tokens()
      const trueMs = tokens.clock.now() + HOUR
      const seen = watch(tokens.credentials.authorization())
      const trial = tokens.credentials.tryOnce()
      await settled()

      for (const index of first === 'the trial' ? [1, 0] : [0, 1]) {
        tokens.requests[index]?.answer(refusal(trueMs, true))
        await settled()
      }
      expect(tokens.requests.slice(2).map(({ nowMs }) => nowMs)).toEqual([trueMs, trueMs])
      for (const request of tokens.requests.slice(2)) request.answer(token('good'))
      await settled()

      expect(seen).toEqual({ value: 'Bearer good' })
      expect(await trial).toBe('Bearer good')
    },
  )

  test('does not change the time of later token requests when the corrected time is refused as well', async () => {
    const tokens = new Tokens()
    const localMs = tokens.clock.now()
    tokens.auto = () => refusal(localMs + HOUR, true)

    await expect(tokens.credentials.tryOnce()).rejects.toThrow('invalid_client')
    tokens.auto = undefined
    void tokens.credentials.authorization()

    expect(tokens.requests.map(({ nowMs }) => nowMs - localMs)).toEqual([0, HOUR, 0])
  })
})

describe('credentials with shared state', () => {
  test('a client makes its own request while another waits, and a later one uses the token that arrives', async () => {
    const tokens = new Tokens()
    const [ended, alive, late] = [tokens.another(), tokens.another(), tokens.another()]
    const lost = watch(ended.authorization())
    const seen = watch(alive.authorization())
    expect(tokens.requests).toHaveLength(2)

    await tokens.answer(token('second'))

    expect(seen).toEqual({ value: 'Bearer second' })
    expect(lost).toEqual({})
    expect(late.authorization()).toBe('Bearer second')
    expect(tokens.requests).toHaveLength(2)
  })

  test('what a client needs after its request has failed is the token that another has fetched meanwhile', async () => {
    const tokens = new Tokens()
    const [first, second] = [tokens.another(), tokens.another()]
    const [firstSeen, secondSeen] = [watch(first.authorization()), watch(second.authorization())]
    tokens.requests[0]?.answer(retry())
    await settled()
    expect(firstSeen.outage?.action).toBe('retry')
    const waiting = watch(first.authorization())
    await tokens.answer(token('second'))
    expect([waiting, secondSeen]).toEqual([{}, { value: 'Bearer second' }])

    await tokens.clock.advance(60_000)

    expect(waiting).toEqual({ value: 'Bearer second' })
    expect(first.authorization()).toBe('Bearer second')
    expect(tokens.requests).toHaveLength(2)
  })

  test('failures of several clients at the same time count as one failure for the backoff', async () => {
    const tokens = new Tokens()
    for (let client = 0; client < 20; client++) void tokens.another().authorization()
    for (const request of [...tokens.requests]) request.answer(retry())
    await settled()
    const late = watch(tokens.another().authorization())
    tokens.auto = () => token('late')

    await tokens.clock.advance(1_000)

    expect(late).toEqual({ value: 'Bearer late' })
  })

  test('a client whose request fails uses the token that another has, without a further request', async () => {
    const tokens = new Tokens()
    const [first, second] = [tokens.another(), tokens.another()]
    const seen = [watch(first.authorization()), watch(second.authorization())]
    await tokens.answer(token('second'))
    tokens.requests[0]?.answer(retry())
    await settled()

    expect(seen).toEqual([{ value: 'Bearer second' }, { value: 'Bearer second' }])
    expect(tokens.requests).toHaveLength(2)
  })

  test('no client makes a request when the server has just refused the request of another', async () => {
    const tokens = new Tokens()
    const [first, second] = [tokens.another(), tokens.another()]
    void watch(first.authorization())
    await tokens.answer(refusal())

    const seen = watch(second.authorization())
    await settled()

    expect(seen.error).toMatchObject({ code: 'auth' })
    expect(tokens.requests).toHaveLength(1)
  })

  test('while the clock is wrong, the requests of two clients are corrected, and those of later ones from the start', async () => {
    const tokens = new Tokens()
    const clients = [tokens.another(), tokens.another()]
    const seen = clients.map((client) => watch(client.authorization()))
    const serverMs = tokens.clock.now() + HOUR
    for (const request of [...tokens.requests]) request.answer(refusal(serverMs, true))
    await settled()
    for (const request of tokens.requests.slice(2)) request.answer(token('late', 0))
    await settled()
    expect(seen).toEqual([{ value: 'Bearer late' }, { value: 'Bearer late' }])

    await tokens.clock.advance(1_000)
    void tokens.another().authorization()

    expect(tokens.requests.at(-1)?.nowMs).toBe(serverMs + 1_000)
  })

  test('closing one client ends neither the waits nor the token of another', async () => {
    const tokens = new Tokens()
    const [first, second] = [tokens.another(), tokens.another()]
    void watch(first.authorization())
    const seen = watch(second.authorization())

    first.close()
    await tokens.answer(token('second'))

    expect(seen).toEqual({ value: 'Bearer second' })
  })
})

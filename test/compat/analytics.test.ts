import { describe, expect, test } from 'vitest'
import { Analytics, type AnalyticsNodeOptions, CompatError, RudderAnalytics } from '../../src/compat.ts'
import type { HTTPClientRequest } from '../../src/http/client.ts'
import { catchProcessWarnings } from '../support/process-warnings.ts'
import { failOnUnhandledRejections } from '../support/unhandled.ts'

failOnUnhandledRejections()
const warned = catchProcessWarnings()

function setUp(status = 200) {
  const requests: HTTPClientRequest[] = []
  const httpClient = {
    async makeRequest(request: HTTPClientRequest) {
      requests.push(request)
      return {
        status,
        statusText: status === 200 ? 'OK' : 'Payment Required',
        headers: {},
        text: async () => 'no',
      }
    },
  }
  const batches = () => requests.map(({ body }) => JSON.parse(body).batch as Record<string, unknown>[])
  return { requests, httpClient, batches }
}

describe('options', () => {
  test.each([
    [{}, 20],
    [{ flushAt: 0 }, 1],
    [{ flushAt: -5 }, 1],
    [{ flushAt: 7 }, 7],
    [{ flushAt: 'many' as never }, 20],
  ])('with the options %j, flushAt is %d, as in the original SDK', async (options, flushAt) => {
    const { httpClient } = setUp()
    const analytics = new Analytics('wk', { ...options, httpClient })
    const settings = new Promise((resolve) => analytics.client.on('initialize', resolve))

    expect(await settings).toMatchObject({ flushAt })
  })

  test.each([
    [500, 500],
    [false, 10_000],
    [undefined, 10_000],
  ] as const)('a timeout of %j is %d ms', async (timeout, ms) => {
    const { requests, httpClient } = setUp()
    const analytics = new Analytics('wk', { timeout, httpClient })
    analytics.track({ userId: 'u', event: 'E' })

    await analytics.flush()

    expect(requests[0]?.httpRequestTimeout).toBe(ms)
  })

  test.each([
    ['axiosConfig', { axiosConfig: { proxy: false } }],
    ['httpRequestTimeout', { timeout: '10s' }],
    ['writeKey', {}],
    ['errorHandler', { errorHandler: 5 }],
    ['axiosInstance', { axiosInstance: {} }],
    ['axiosRetryConfig', { axiosRetryConfig: { retries: 0 } }],
  ])(
    '%s that is invalid, or has no counterpart, throws an error that names the setting',
    (setting, options) => {
      const key = setting === 'writeKey' ? '' : 'wk'

      expect(() => new Analytics(key, options as never)).toThrow(expect.objectContaining({ setting }))
    },
  )

  test.each([Analytics, RudderAnalytics])('%o with a string in the place of the options throws', (Client) => {
    expect(() => new Client('wk', 'https://plane.example' as never)).toThrow(
      expect.objectContaining({
        setting: 'options',
        message: expect.stringContaining('expected an object, such as { dataPlaneUrl }, got a string'),
      }),
    )
    expect(() => new Client('wk', null as never)).not.toThrow()
    expect(warned).toEqual([])
  })

  test('options that are empty, and a slash at the end of the path, are as in the original SDK', () => {
    const empty = {
      host: '',
      path: '/v1/batch/',
      retryCount: null,
      axiosConfig: undefined,
      axiosInstance: null,
    }

    expect(new Analytics('wk', empty as never).client.status.url).toBe('https://api.segment.io/v1/batch')
    expect(warned).toEqual([])
  })

  test('settings of Trackpost may be added, and unknown names are reported', () => {
    const analytics = new Analytics('wk', { maxConcurrentRequests: 1, flushhAt: 3 } as never)

    expect(analytics.client.status.url).toBe('https://api.segment.io/v1/batch')
    expect(warned).toEqual([expect.stringContaining('flushhAt')])
  })

  test.each([[{ retryCount: 0 }], [{ maxRetries: 0 }], [{ maxRetries: 0, retryCount: 3 }]])(
    'with %j, an event has one attempt',
    async (options) => {
      const { requests, httpClient } = setUp(500)
      const analytics = new Analytics('wk', { ...options, httpClient })
      const lost = new Promise((resolve) => analytics.track({ userId: 'u', event: 'E' }, resolve))

      expect(await lost).toMatchObject({ code: 'retries_exhausted' })
      expect(requests).toHaveLength(1)
    },
  )

  test('RudderAnalytics has its own default host; the options host and dataPlaneUrl set another one', () => {
    const urlOf = ({ client }: Analytics): string => client.status.url
    expect(urlOf(new RudderAnalytics('wk'))).toBe('https://hosted.rudderlabs.com/v1/batch')
    expect(urlOf(new RudderAnalytics('wk', { host: 'https://a.example/' }))).toBe(
      'https://a.example/v1/batch',
    )
    expect(urlOf(new Analytics('wk', { dataPlaneUrl: 'https://b.example' }))).toBe(
      'https://b.example/v1/batch',
    )
  })
})

describe('calls', () => {
  test('an invalid call throws, sends nothing, and does not delay a flush', async () => {
    const { requests, httpClient } = setUp()
    const analytics = new Analytics('wk', { httpClient })

    expect(() => analytics.track({ event: 'E' })).toThrow('userId')

    expect(await analytics.flush()).toBeUndefined()
    expect(requests).toEqual([])
  })

  test('events of RudderAnalytics have the fields of RudderStack, such as originalTimestamp', async () => {
    const { batches, httpClient } = setUp()
    const analytics = new RudderAnalytics('wk', { httpClient, gzip: false })
    analytics.identify({ userId: 'u', traits: { plan: 'pro' }, originalTimestamp: '2024-02-29T12:00:00Z' })

    await analytics.flush()

    expect(batches()[0]?.[0]).toMatchObject({
      channel: 'server',
      originalTimestamp: '2024-02-29T12:00:00.000Z',
      timestamp: '2024-02-29T12:00:00.000Z',
      context: { traits: { plan: 'pro' } },
    })
  })
})

describe('failures', () => {
  test('flush rejects with the status text, but a caller that passes a callback may ignore the promise', async () => {
    const { httpClient } = setUp(402)
    const analytics = new Analytics('wk', { httpClient })
    analytics.track({ userId: 'u', event: 'E' })

    await expect(analytics.flush()).rejects.toThrow('Payment Required')
    analytics.track({ userId: 'u', event: 'E' })
    // The promise is ignored: its rejection must not end the process.
    const error = await new Promise<Error | undefined>((resolve) => void analytics.flush(resolve))

    expect(error).toBeInstanceOf(CompatError)
    expect(error).toMatchObject({
      code: 'rejected',
      response: { status: 402, data: 'no' },
      cause: { status: 402 },
    })
  })

  describe('a lost event', () => {
    const lose = async (
      options: AnalyticsNodeOptions,
      prepare = (_analytics: Analytics) => {},
      callback?: () => void,
    ) => {
      const analytics = new Analytics('wk-secret', { httpClient: setUp(402).httpClient, ...options })
      prepare(analytics)
      for (const event of ['A', 'B']) analytics.track({ userId: 'u', event }, callback)
      await analytics.flush().catch(() => {})
      expect(analytics.client.stats.failed).toBe(2)
    }

    test('that nobody hears of causes one process warning for each code', async () => {
      await lose({})

      expect(warned).toEqual([
        expect.stringMatching(/^an event was not delivered: \[402\] Payment Required \(rejected\)\./),
      ])
    })

    test('that a callback, an errorHandler or an error listener gets is not logged', async () => {
      const ignore = () => {}
      await lose({}, undefined, ignore)
      await lose({ errorHandler: ignore })
      await lose({}, ({ client }) => client.on('error', ignore))

      expect(warned).toEqual([])
    })
  })

  test('an error in errorHandler itself, or in a callback, has no other effect', async () => {
    const { httpClient } = setUp(402)
    const fail = () => {
      throw new Error('kaputt')
    }
    const analytics = new Analytics('wk', { httpClient, errorHandler: fail })
    const warnings: unknown[] = []
    analytics.client.on('warning', ({ reason }) => warnings.push(reason))
    analytics.track({ userId: 'u', event: 'E' }, fail)

    await analytics.flush(fail)

    expect(analytics.client.stats).toMatchObject({ failed: 1, pending: 0 })
    expect(warnings).toEqual([new Error('kaputt'), new Error('kaputt')])
    expect(warned).toEqual([expect.stringContaining('a callback of flush threw')])
  })
})

test('the error is frozen, since all events of a failed request share it, and its name is literal', async () => {
  const errors: unknown[] = []
  const analytics = new Analytics('wk', { errorHandler: () => {}, httpClient: setUp(402).httpClient })
  for (let count = 0; count < 2; count++)
    analytics.track({ userId: 'u', event: 'E' }, (error) => errors.push(error))
  await analytics.flush()

  const [first, second] = errors as [Error & { code: string }, Error]
  expect(first).toBe(second)
  expect(Reflect.set(first, 'code', 'X')).toBe(false)
  expect(first).toMatchObject({ name: 'CompatError', code: 'rejected' })
})

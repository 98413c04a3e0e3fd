// The client in TypeScript: typed events, a typed plugin, and outcomes. Compiles with the strictest compiler options.
import DefaultAnalytics, {
  Analytics,
  type AnalyticsSettings,
  type Context,
  type DeliveryError,
  type HTTPClient,
  type HTTPClientRequest,
  type HTTPResponse,
  type Plugin,
} from 'trackpost'

interface OrderCompleted {
  orderId: string
  total: number
  currency: 'EUR' | 'JPY'
  coupon?: string
}

/** Adds the release of the service to track and page events, and tracks an event when the service starts. */
class ReleasePlugin implements Plugin {
  readonly name = 'release'
  readonly type = 'enrichment'
  readonly version = '1.0.0'
  readonly #release: string

  constructor(release: string) {
    this.#release = release
  }

  isLoaded(): boolean {
    return true
  }

  async load(_ctx: Context, analytics: Analytics): Promise<void> {
    analytics.track({
      anonymousId: 'service',
      event: 'Service Started',
      properties: { release: this.#release },
    })
  }

  track(ctx: Context): Context {
    ctx.updateEvent('context.app.version', this.#release)
    return ctx
  }

  async page(ctx: Context): Promise<Context> {
    return this.track(ctx)
  }
}

/** A custom HTTP client: counts the requests and passes them on to fetch. */
class CountingClient implements HTTPClient {
  requests = 0

  async makeRequest({ url, method, headers, body, signal }: HTTPClientRequest): Promise<HTTPResponse> {
    this.requests++
    return fetch(url, { method, headers, body, redirect: 'manual', signal: signal ?? null })
  }
}

const client = new CountingClient()
const settings: AnalyticsSettings = {
  writeKey: process.env['TRACKPOST_WRITE_KEY'] ?? '',
  // `undefined` means the default.
  host: process.env['TRACKPOST_HOST'],
  flushAt: undefined,
  httpClient: client,
}

type Code = DeliveryError['code']

const losses = new Map<Code, number>()

/** Whether our own program or settings lost the event. If a code is missing here, the compiler reports it. */
function isOurFault(code: Code): boolean {
  switch (code) {
    case 'invalid':
    case 'unserializable':
    case 'too_large':
    case 'plugin':
    case 'closed':
    case 'auth':
      return true
    case 'queue_full':
    case 'rejected':
    case 'retries_exhausted':
    case 'deadline':
    case 'shutdown_timeout':
    case 'deferred':
      return false
  }
}

await using analytics = new Analytics(settings)

analytics.on('error', ({ code, reason, ctx }) => {
  losses.set(reason.code, (losses.get(reason.code) ?? 0) + 1)
  console.error(code, reason.message, isOurFault(reason.code), ctx?.event.messageId)
})
analytics.on('track', (ctx) => console.log(`delivered ${ctx.event.event} after ${ctx.attempts} attempt`))

await analytics.register(new ReleasePlugin('2.4.1'), {
  name: 'shorten-names',
  type: 'before',
  isLoaded: () => true,
  load: () => undefined,
  identify: (ctx) => {
    ctx.event.traits = { ...ctx.event.traits, name: 'Z. Å.' }
    return ctx
  },
})

const order: OrderCompleted = { orderId: 'order-5012', total: 24.9, currency: 'EUR' }
const visitor: { userId?: string; anonymousId: string } = { anonymousId: 'visitor-7' }

analytics.identify({ userId: 'user-1042', traits: { name: 'Zoë Åström', createdAt: new Date() } })
analytics.page({ ...visitor, name: 'Café', properties: undefined, timestamp: undefined })
analytics.group({ userId: 'user-1042', groupId: 'cafe-moebius', integrations: { All: false, CRM: true } })
analytics.alias({ previousId: 'visitor-7', userId: 'user-1042', context: undefined })

const { track } = analytics
track({ userId: 'user-1042', event: 'Order Completed', properties: { ...order } }, (error, ctx) => {
  console.log(error === undefined ? `order ${ctx?.id.length}` : error.code)
})

const summary: { delivered: number; failed: number } = await analytics.flush({ timeout: undefined })
console.log(`${summary.delivered} delivered, ${client.requests} requests, ${analytics.VERSION}`)
console.log(DefaultAnalytics === Analytics)

// A program as users of @segment/analytics-node write it: a shop with orders, a nightly import and a shutdown.
// public-types.full.test.ts compiles it with another package in the import, and ported.night.test.ts runs it with both.
import {
  type AliasParams,
  Analytics,
  type AnalyticsSettings,
  Context,
  FetchHTTPClient,
  type GroupParams,
  type GroupTraits,
  type HTTPClient,
  type HTTPClientRequest,
  type HTTPFetchFn,
  type HTTPResponse,
  type IdentifyParams,
  type OAuthSettings,
  type PageParams,
  type Plugin,
  type TrackParams,
  type UserTraits,
} from '@segment/analytics-node'

interface Customer {
  id: number
  email: string | null
  phone: number | null
  name: string | null
  createdAt: Date
  company: { id: number; name: string; plan: string | null } | null
  address: { street: string; city: string; country: string; postalCode: string } | null
}

interface Order {
  id: string
  total: number
  currency: 'EUR' | 'CHF'
  coupon: string | null
  lines: { sku: string; quantity: number }[]
}

class Money {
  constructor(
    readonly cents: number,
    readonly currency: string,
  ) {}
  toJSON(): string {
    return `${this.cents / 100} ${this.currency}`
  }
}

// --- settings ---

const oauthSettings: OAuthSettings = {
  clientId: process.env['CLIENT_ID'] ?? 'client',
  clientKey: process.env['CLIENT_KEY'] ?? '',
  keyId: process.env['KEY_ID'] ?? 'key',
  authServer: process.env['TOKEN_SERVER'] ?? 'https://oauth2.eu1.segmentapis.com',
  scope: 'tracking_api:write',
  maxRetries: 3,
}

class LoggingClient implements HTTPClient {
  private readonly inner = new FetchHTTPClient()
  async makeRequest(options: HTTPClientRequest): Promise<HTTPResponse> {
    const started = Date.now()
    const response = await this.inner.makeRequest(options)
    console.log(options.method, options.url, response.status, response.statusText, Date.now() - started)
    return response
  }
}

const fetchWithProxy: HTTPFetchFn = (url, init) => fetch(url, { ...init })

function settingsFor(environment: string): AnalyticsSettings {
  const settings: AnalyticsSettings = {
    writeKey: process.env['SEGMENT_WRITE_KEY'] ?? 'shop',
    host: process.env['TRACKING_HOST'] ?? 'https://events.eu1.segmentapis.com',
    path: '/v1/batch',
    maxRetries: 5,
    flushAt: 20,
    flushInterval: 5_000,
    httpRequestTimeout: 8_000,
    disable: environment === 'test',
    httpClient: environment === 'production' ? new LoggingClient() : fetchWithProxy,
  }
  if (environment === 'production') settings.oauthSettings = oauthSettings
  return settings
}

// --- plugins ---

const redaction: Plugin = {
  name: 'Redaction',
  type: 'before',
  version: '1.0.0',
  isLoaded: () => true,
  load: async () => undefined,
  track: (ctx) => {
    if (ctx.event.properties?.email) ctx.updateEvent('properties.email', undefined)
    if (ctx.event.context?.ip !== undefined) ctx.updateEvent('context.ip', '0.0.0.0')
    return ctx
  },
  identify: async (ctx) => {
    if (ctx.event.traits?.phone) ctx.event.traits.phone = null
    return ctx
  },
}

class Metrics implements Plugin {
  readonly name = 'Metrics'
  readonly type = 'after'
  readonly alternativeNames = ['metrics']
  private counts = new Map<string, number>()
  isLoaded(): boolean {
    return true
  }
  load(ctx: Context, analytics: Analytics): Promise<void> {
    ctx.log('debug', 'loaded', { version: analytics.VERSION })
    return Promise.resolve()
  }
  track(ctx: Context): Context {
    const name = ctx.event.event ?? 'unnamed'
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
    ctx.stats.increment('tracked', 1, [name])
    ctx.stats.gauge('attempts', ctx.attempts)
    ctx.logger.log('info', name)
    return ctx
  }
  unload(): void {
    this.counts.clear()
  }
}

const consent: Plugin = {
  name: 'Consent',
  type: 'enrichment',
  isLoaded: () => true,
  load: () => Promise.resolve(),
  page: (ctx) => {
    if (ctx.event.context?.page?.url?.includes('/private/')) ctx.cancel(new Error('no consent'))
    const source = ctx.event.context?.campaign?.source
    if (source) ctx.updateEvent('properties.campaign', source)
    return ctx
  },
}

// --- the shop ---

export class Shop {
  private readonly analytics: Analytics
  private readonly late: string[] = []

  constructor(environment: string) {
    this.analytics = new Analytics(settingsFor(environment))
    this.analytics.on('error', (error) => console.error(error.code, error.reason, error.ctx?.id))
    this.analytics.on('call_after_close', (event) => this.late.push(`${event.type}: ${event.event ?? ''}`))
    this.analytics.on('http_request', ({ url, method, headers, body }) =>
      console.debug(method, url, headers['Content-Type'], body.length),
    )
    this.analytics.on('http_response', ({ status, statusText, headers, body, url }) =>
      console.debug(url, status, statusText, headers['date'], body.slice(0, 100)),
    )
    this.analytics.on('register', (names) => console.debug(names.join()))
    this.analytics.on('deregister', (names) => console.debug(names.length))
    this.analytics.on('initialize', (settings) => console.debug(settings.flushAt))
    this.analytics.once('drained', () => console.debug('drained'))
    for (const kind of ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const) {
      this.analytics.on(kind, (ctx) => console.debug(kind, ctx.id, ctx.event.type, ctx.toJSON().logs.length))
    }
  }

  async start(): Promise<void> {
    await this.analytics.register(redaction, new Metrics(), consent)
    await this.analytics.ready
  }

  signedUp(customer: Customer): void {
    const traits: UserTraits = {
      id: customer.id,
      email: customer.email,
      phone: customer.phone,
      name: customer.name,
      createdAt: customer.createdAt,
      address: customer.address,
      company: customer.company,
      tier: 'gold',
    }
    const params: IdentifyParams = { userId: String(customer.id), traits, timestamp: customer.createdAt }
    this.analytics.identify(params)
    if (customer.company === null) return
    const groupTraits: GroupTraits = {
      name: customer.company.name,
      plan: customer.company.plan,
      employees: 5,
    }
    const group: GroupParams = {
      userId: params.userId ?? '',
      groupId: String(customer.company.id),
      traits: groupTraits,
    }
    this.analytics.group(group)
  }

  ordered(customer: Customer, order: Order): Promise<Context | undefined> {
    const params: TrackParams = {
      userId: `${customer.id}`,
      event: 'Order Completed',
      properties: { ...order, price: new Money(order.total * 100, order.currency), email: customer.email },
      context: { ip: '203.0.113.7', locale: 'de-CH', userAgent: 'shop/1', traits: { email: customer.email } },
      integrations: { All: false, 'Google Analytics': true, Mixpanel: { project: 7 } },
      messageId: `order-${order.id}`,
    }
    return new Promise((resolve, reject) => {
      this.analytics.track(params, (error, ctx) => (error ? reject(error) : resolve(ctx)))
    })
  }

  viewed(visitor: string, url: string, utm: { source: string; medium: string; name: string }): void {
    const params: PageParams = {
      anonymousId: visitor,
      category: 'Docs',
      name: 'Prices',
      properties: { url, title: 'Prices', referrer: '' },
      context: {
        page: { url, path: new URL(url).pathname, referrer: 'https://search.example', title: 'Prices' },
        campaign: utm,
        referrer: { type: 'search', url: 'https://search.example' },
        location: { country: 'CH' },
        active: true,
      },
    }
    this.analytics.page(params)
    this.analytics.screen({ ...params, name: 'Prices on a phone' })
  }

  loggedIn(visitor: string, userId: string): void {
    const params: AliasParams = { previousId: visitor, userId }
    this.analytics.alias(params, (error?: unknown, ctx?: Context) => {
      if (error) console.error(error)
      const failure = ctx?.failedDelivery()
      if (failure) console.error(failure.reason)
      if (ctx?.isSame(ctx)) for (const { level, message } of ctx.logs()) console.log(level, message)
    })
  }

  async checkpoint(): Promise<void> {
    await this.analytics.flush({ timeout: 5_000 })
  }

  async stop(): Promise<void> {
    await this.analytics.deregister('Metrics')
    await this.analytics.closeAndFlush({ timeout: 10_000 })
  }
}

interface Stoppable {
  stop(): Promise<void>
  flush?: () => Promise<void>
}

const client = new Analytics({ writeKey: 'shop', disable: true })
export const parts: Stoppable[] = [
  new Shop('test'),
  {
    async stop() {
      await client.closeAndFlush()
    },
    async flush() {
      await client.flush()
    },
  },
]

export function contextFor(event: Context['event']): Context {
  const ctx = new Context(event)
  ctx.log('info', 'made by hand')
  return Context.system().isSame(ctx) ? Context.system() : ctx
}

process.once('SIGTERM', () => {
  Promise.all(parts.map((part) => part.stop())).then(
    () => process.exit(0),
    () => process.exit(1),
  )
})

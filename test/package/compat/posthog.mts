// A program as users of posthog-node 5 write it, in strict TypeScript. A test runs it with that library, and with
// `trackpost/compat` instead: node posthog.cjs MODULE URL
import { PostHog } from 'posthog-node'

interface Customer {
  id: string
  email: string | null
  company: { id: string; name: string; seats: number } | undefined
}

interface Order {
  id: string
  total: number
  currency: 'EUR' | 'CHF'
  lines: { sku: string; quantity: number }[]
}

class Shop {
  readonly posthog: PostHog
  readonly errors: string[] = []
  readonly #stopListening: () => void

  constructor(host: string, isTest = false) {
    this.posthog = new PostHog('project-key', {
      host,
      flushAt: 20,
      flushInterval: 60_000,
      requestTimeout: 5_000,
      fetchRetryCount: 1,
      disabled: isTest,
    })
    this.#stopListening = this.posthog.on('error', (error: Error) => this.errors.push(typeof error.message))
  }

  signedUp(customer: Customer, visitor: string, at: Date): void {
    this.posthog.capture({
      distinctId: customer.id,
      event: 'Signed Up',
      properties: { plan: 'pro', at, referrer: null },
      timestamp: at,
      uuid: '0192a1b2-0000-7000-8000-00000000000a',
    })
    this.posthog.identify({
      distinctId: customer.id,
      properties: { email: customer.email, visits: 3, tags: ['new', 'newsletter'] },
    })
    this.posthog.alias({ distinctId: customer.id, alias: visitor })
  }

  joined({ id, company }: Customer): void {
    if (company === undefined) return
    this.posthog.groupIdentify({
      groupType: 'company',
      groupKey: company.id,
      properties: { name: company.name, seats: company.seats },
    })
    this.posthog.groupIdentify({ groupType: 'team', groupKey: 'sales', distinctId: id })
  }

  renamed(customer: Customer, first: Date): void {
    this.posthog.identify({
      distinctId: customer.id,
      properties: {
        $set: { email: customer.email },
        $set_once: { firstSeen: first },
        $anon_distinct_id: 'v-9',
      },
    })
  }

  ordered(customer: Customer, order: Order): void {
    const groups: Record<string, string> =
      customer.company === undefined ? {} : { company: customer.company.id }
    this.posthog.capture({
      distinctId: customer.id,
      event: 'Order Completed',
      properties: { ...order, count: order.lines.length },
      groups,
      sendFeatureFlags: false,
    })
  }

  viewed(visitor: string, url: string): void {
    this.posthog.capture({
      distinctId: visitor,
      event: '$pageview',
      properties: { $current_url: url, $title: 'Prices' },
    })
    this.posthog.capture({ distinctId: visitor, event: '$screen', properties: { $screen_name: 'Basket' } })
  }

  async paid(customer: Customer, order: Order): Promise<void> {
    await this.posthog.captureImmediate({
      distinctId: customer.id,
      event: 'Payment Received',
      properties: { order: order.id, total: order.total },
    })
    await this.posthog.identifyImmediate({ distinctId: customer.id, properties: { paid: true } })
    await this.posthog.aliasImmediate({ distinctId: customer.id, alias: 'v-8' })
    await this.posthog.groupIdentifyImmediate({
      groupType: 'company',
      groupKey: 'c-1',
      properties: { paying: true },
    })
  }

  async stop(): Promise<void> {
    await this.posthog.flush()
    this.#stopListening()
    await this.posthog.shutdown(5_000)
  }
}

const url = process.argv.at(-1) ?? ''
const at = new Date('2024-02-29T12:00:00.000Z')
const ada: Customer = {
  id: 'ada',
  email: 'ada@example.com',
  company: { id: 'c-1', name: 'Engines', seats: 4 },
}
const bob: Customer = { id: 'bob', email: null, company: undefined }
const order: Order = { id: 'o-17', total: 42.5, currency: 'CHF', lines: [{ sku: 'tea', quantity: 2 }] }

async function main(): Promise<void> {
  const shop = new Shop(`${url}/shop`)
  shop.signedUp(ada, 'v-7', at)
  shop.joined(ada)
  shop.joined(bob)
  shop.renamed(bob, at)
  shop.ordered(ada, order)
  shop.ordered(bob, order)
  shop.viewed('v-7', 'https://shop.example/prices')
  await shop.posthog.flush()
  await shop.paid(ada, order)
  await shop.stop()

  const quiet = new Shop(`${url}/quiet`, true)
  quiet.ordered(ada, order)
  await quiet.paid(ada, order)
  await quiet.stop()

  const refused = new Shop(`${url}/refused`)
  await refused.paid(ada, order)
  await refused.stop()

  console.log(
    JSON.stringify({ errors: shop.errors.length, quiet: quiet.errors.length, refused: refused.errors }),
  )
}

void main()

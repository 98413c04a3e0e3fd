import { readFileSync } from 'node:fs'

const products = JSON.parse(readFileSync(new URL('products.json', import.meta.url), 'utf8'))

/**
 * Reads the visits in `visits.ndjson`, one per line. `fails` is the code with which the event of the visit must fail.
 * `repeatText` tells how often `body.text` is repeated: the long text would not fit into the file.
 */
export function readVisits() {
  const lines = readFileSync(new URL('visits.ndjson', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => {
    const { repeatText, ...visit } = JSON.parse(line)
    if (repeatText !== undefined) visit.body.text = visit.body.text.repeat(repeatText)
    return visit
  })
}

export async function visitShop(shopUrl, visit) {
  const cookies = []
  if (visit.visitor !== undefined) cookies.push(`visitor=${visit.visitor}`)
  if (visit.user !== undefined) cookies.push(`user=${visit.user}`)
  const headers = {
    'X-Request-Id': visit.id,
    'Accept-Language': visit.locale,
    'User-Agent': visit.agent,
    ...(cookies.length > 0 ? { Cookie: cookies.join('; ') } : {}),
    ...(visit.referrer !== undefined ? { Referer: visit.referrer } : {}),
  }
  const body = visit.body === undefined ? undefined : JSON.stringify(visit.body)
  const response = await fetch(shopUrl + visit.path, { method: visit.method, headers, body })
  await response.arrayBuffer()
  if (!response.ok) throw new Error(`the shop responded with ${response.status} to ${visit.id}`)
}

/**
 * The events that a visit must lead to: `{ id, kind, fails, message }`. The message that arrives must contain the properties of
 * `message`. The events are derived from the visit, without the code of the shop, so that the two can be compared.
 */
export function expectedEvents(visit) {
  if (visit.path === '/import/orders') return visit.body.map(expectedImport)
  const { kind, ...message } = expectedMessage(visit)
  return [
    {
      id: visit.id,
      kind,
      fails: visit.fails,
      message: {
        userId: visit.user,
        ...(kind === 'alias' ? {} : { anonymousId: visit.visitor }),
        context: { ip: '127.0.0.1', locale: visit.locale, userAgent: visit.agent },
        ...message,
      },
    },
  ]
}

function expectedMessage({ path, visitor, agent, referrer, body }) {
  const [, route, item] = path.split('/')
  switch (route) {
    case 'products': {
      const { name, category, price, currency } = products[item]
      const url = `https://shop.example${path}`
      const title = `${name} | Shop`
      const properties = { path, url, referrer, title, sku: item, price, currency, category }
      return { kind: 'page', name, category, properties }
    }
    case 'app':
      return { kind: 'screen', name: item, properties: { app: agent } }
    case 'cart':
      return { kind: 'track', event: 'Product Added', properties: expectedLine(body) }
    case 'checkout': {
      const { orderId, coupon, lines } = body
      return {
        kind: 'track',
        event: 'Order Completed',
        properties: { orderId, coupon, items: lines.map(expectedLine) },
      }
    }
    case 'reviews':
      return { kind: 'track', event: 'Review Written', properties: body }
    case 'sign-up': {
      const { userId, ...traits } = body
      return { kind: 'identify', userId, traits }
    }
    case 'login':
      return { kind: 'alias', previousId: visitor, userId: body.userId }
    case 'companies':
      return { kind: 'group', groupId: item, traits: body }
    default:
      throw new Error(`no expectation for ${path}`)
  }
}

function expectedImport({ orderId, userId, completedAt, total, fails, ...line }) {
  return {
    id: `import-${orderId}`,
    kind: 'track',
    fails,
    message: {
      userId,
      event: 'Order Completed',
      timestamp: completedAt,
      properties: { orderId, total, items: [expectedLine(line)] },
    },
  }
}

function expectedLine({ sku, quantity }) {
  const { name, price, currency } = products[sku]
  return { sku, name, price, currency, quantity }
}

/**
 * A small shop that tracks the actions of its visitors: TRACKPOST_WRITE_KEY=... PORT=8080 node shop.mjs
 *
 * Its log, on standard output, has one JSON object per line. Each event has one line with its outcome.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Analytics } from 'trackpost'

const products = JSON.parse(readFileSync(new URL('products.json', import.meta.url), 'utf8'))

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  // Only for a self-hosted service or for tests. If it is undefined, events are sent to the public API.
  host: process.env.TRACKPOST_HOST,
})

const routes = [
  { method: 'GET', path: /^\/products\/([\w-]+)$/, answer: showProduct },
  { method: 'GET', path: /^\/app\/([\w-]+)$/, answer: showScreen },
  { method: 'POST', path: /^\/cart$/, answer: addToCart },
  { method: 'POST', path: /^\/checkout$/, answer: checkOut },
  { method: 'POST', path: /^\/reviews$/, answer: writeReview },
  { method: 'POST', path: /^\/sign-up$/, answer: signUp },
  { method: 'POST', path: /^\/login$/, answer: logIn },
  { method: 'POST', path: /^\/companies\/([\w-]+)\/members$/, answer: joinCompany },
  { method: 'POST', path: /^\/import\/orders$/, answer: importOrders },
]

function showProduct(visit, sku) {
  const { name, category, price, currency } = products[sku]
  analytics.page(
    {
      ...visit.common,
      name,
      category,
      properties: { ...visit.page, title: `${name} | Shop`, sku, price, currency },
    },
    outcomeOf('page', visit.id),
  )
}

function showScreen(visit, screen) {
  analytics.screen(
    { ...visit.common, name: screen, properties: { app: visit.common.context.userAgent } },
    outcomeOf('screen', visit.id),
  )
}

function addToCart(visit) {
  const line = describe(visit.body)
  analytics.track({ ...visit.common, event: 'Product Added', properties: line }, outcomeOf('track', visit.id))
}

function checkOut(visit) {
  const { orderId, lines, coupon } = visit.body
  const items = lines.map(describe)
  // The prices are in different currencies: there is one total for each currency.
  const totals = {}
  for (const { price, quantity, currency } of items) {
    totals[currency] = Math.round(((totals[currency] ?? 0) + price * quantity) * 100) / 100
  }
  analytics.track(
    { ...visit.common, event: 'Order Completed', properties: { orderId, items, totals, coupon } },
    outcomeOf('track', visit.id),
  )
}

function writeReview(visit) {
  analytics.track(
    { ...visit.common, event: 'Review Written', properties: visit.body },
    outcomeOf('track', visit.id),
  )
}

/** From here on, the visitor has a user id. The service connects this id with the anonymous id, which is in `visit.common`. */
function signUp(visit) {
  const { userId, ...traits } = visit.body
  analytics.identify({ ...visit.common, userId, traits }, outcomeOf('identify', visit.id))
}

/** Connects the earlier, anonymous events of this visitor with a known user. */
function logIn(visit) {
  const { anonymousId, ...common } = visit.common
  analytics.alias(
    { ...common, previousId: anonymousId, userId: visit.body.userId },
    outcomeOf('alias', visit.id),
  )
}

function joinCompany(visit, groupId) {
  analytics.group({ ...visit.common, groupId, traits: visit.body }, outcomeOf('group', visit.id))
}

/** Imports orders from the earlier software of the shop. Each event has the time of its order. */
function importOrders(visit) {
  for (const { orderId, userId, completedAt, total, ...line } of visit.body) {
    // The id is derived from the order: when the import is run again, the service drops the duplicate.
    const messageId = `import-${orderId}`
    analytics.track(
      {
        userId,
        messageId,
        timestamp: completedAt,
        event: 'Order Completed',
        properties: { orderId, total, items: [describe(line)] },
      },
      outcomeOf('track', messageId),
    )
  }
}

function describe({ sku, quantity }) {
  const { name, price, currency } = products[sku]
  return { sku, name, price, currency, quantity }
}

/** Returns a callback that writes the outcome of an event to the log. */
function outcomeOf(kind, id) {
  return (error) => {
    if (error === undefined) log('delivered', { id, kind })
    else log('not delivered', { id, kind, code: error.code, reason: error.message })
  }
}

function log(message, details = {}) {
  console.log(JSON.stringify({ message, ...details }))
}

async function readVisit(request) {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString('utf8')
  const cookies = Object.fromEntries(
    (request.headers.cookie ?? '').split('; ').map((cookie) => cookie.split('=', 2)),
  )
  const { pathname } = new URL(request.url, 'http://localhost')
  const id = request.headers['x-request-id']
  return {
    id,
    pathname,
    body: text === '' ? undefined : JSON.parse(text),
    page: { path: pathname, url: `https://shop.example${pathname}`, referrer: request.headers.referer },
    common: {
      userId: cookies.user,
      anonymousId: cookies.visitor,
      // If the same request arrives twice, the service counts its event once.
      messageId: id,
      context: {
        ip: request.socket.remoteAddress,
        locale: request.headers['accept-language'],
        userAgent: request.headers['user-agent'],
      },
    },
  }
}

async function answer(request, response) {
  const visit = await readVisit(request)
  for (const { method, path, answer } of routes) {
    const match = request.method === method && path.exec(visit.pathname)
    if (!match) continue
    // The handler tracks the event, which takes no time: the visitor does not wait until it is sent.
    answer(visit, match[1])
    return response.end('{"ok":true}')
  }
  response.writeHead(404).end('{"ok":false}')
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    log('request failed', { reason: String(error) })
    response.writeHead(500).end('{"ok":false}')
  })
})

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  log('listening', { url: `http://127.0.0.1:${server.address().port}` })
})

process.once('SIGTERM', async () => {
  log('stopping', { stats: analytics.stats })
  // First wait for the open requests: they may still track events.
  await new Promise((resolve) => {
    server.close(resolve)
    // Node.js 18 and older leave idle connections open.
    server.closeIdleConnections?.()
  })
  const { failed } = await analytics.closeAndFlush({ timeout: 8_000 })
  log('stopped', { stats: analytics.stats })
  process.exitCode = failed === 0 ? 0 : 1
})

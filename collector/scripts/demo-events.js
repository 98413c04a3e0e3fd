/**
 * Sends events like those of a small shop, so that the page has something to show.
 *
 * Usage: node scripts/demo-events.js <url> [events]
 */
const [url, count = '300'] = process.argv.slice(2)
if (url === undefined) throw new Error('usage: node scripts/demo-events.js <url> [events]')

const people = ['zoë-12', 'anna-7', 'jürgen-3', 'user-4711', 'maría-88']
const makers = [
  (user, n) => ({
    type: 'track',
    userId: user,
    event: 'Order Completed',
    properties: {
      total: 19.9 + n,
      currency: 'EUR',
      items: [{ sku: `sku-${n}`, name: 'Teekanne "Größe L"' }],
    },
  }),
  (user, n) => ({
    type: 'page',
    userId: user,
    name: 'Cart',
    properties: { url: `https://shop.example.com/cart?${n}`, title: 'Your cart' },
  }),
  (user) => ({ type: 'identify', userId: user, traits: { email: `${user}@example.com`, plan: 'gold' } }),
  (_user, n) => ({ type: 'screen', anonymousId: `anon-${n}`, name: 'Home', properties: {} }),
  (user, n) => ({
    type: 'group',
    userId: user,
    groupId: `company-${n % 3}`,
    traits: { name: 'Müller & Söhne' },
  }),
  (user, n) => ({
    type: 'track',
    userId: user,
    event: 'Product Viewed',
    properties: { sku: `sku-${n}` },
    integrations: n % 4 ? {} : { Warehouse: false },
  }),
  (user) => ({ type: 'track', userId: user, properties: { forgot: 'the event name' } }),
  (user, n) => ({ type: 'alias', userId: user, previousId: `anon-${n}` }),
  () => ({ type: 'track', event: 'Signed Up', properties: { plan: 'gold' } }),
]

async function send(writeKey, batch) {
  await fetch(`${url}/v1/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`${writeKey}:`)}` },
    body: JSON.stringify({ batch, sentAt: new Date().toISOString() }),
  })
}

for (let n = 0; n < Number(count); n += 10) {
  const batch = Array.from({ length: 10 }, (_, i) => {
    const make = makers[(n + i) % makers.length]
    const timestamp = new Date().toISOString()
    return { ...make(people[(n + i) % people.length], n + i), messageId: `demo-${n + i}`, timestamp }
  })
  await send(n % 30 === 0 ? 'mobile-app' : 'web-shop', batch)
  if (n % 50 === 0) await send('web-shop', batch.slice(0, 1))
}

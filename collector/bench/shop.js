/** Posts events like those of a shop with 49,999 customers and three sources; one in 50 is rejected, one in 20 sets traits. */
export async function postShop(url, count, batch = 500) {
  let next = 0
  const post = async () => {
    while (next < count) {
      const from = next
      next += batch
      const source = SOURCES[(from / batch) % SOURCES.length]
      const items = Array.from({ length: Math.min(batch, count - from) }, (_, i) => event(from + i))
      const response = await fetch(new URL('/v1/batch', url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`${source}:`)}` },
        body: JSON.stringify({ batch: items, sentAt: new Date().toISOString() }),
      })
      if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
      await response.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: 4 }, post))
}

const SOURCES = ['web-shop', 'mobile-app', 'checkout-server']
const TRACKS = ['Product Viewed', 'Product Added', 'Cart Viewed', 'Checkout Started', 'Order Completed']
/** A prime, so that every customer sends every kind of event. */
const PEOPLE = 49_999
const DAY_MS = 86_400_000

function event(n) {
  const number = (n * 7919) % PEOPLE
  const base = {
    messageId: `shop-${n}`,
    userId: `user-${number}`,
    timestamp: new Date(Date.now() - ((n * 104_729) % (30 * DAY_MS))).toISOString(),
    context: { library: { name: 'trackpost', version: '0.1.0' }, locale: 'de-DE' },
  }
  if (n % 50 === 7) return { ...base, type: 'track', properties: { forgot: 'the event name' } }
  if (n % 20 === 3) {
    return {
      ...base,
      type: 'identify',
      traits: { name: `Ada ${number}`, email: `ada${number}@example.com`, plan: 'gold' },
    }
  }
  if (n % 10 === 4)
    return { ...base, type: 'page', name: 'Cart', properties: { url: `https://shop.example/cart?${n}` } }
  return {
    ...base,
    type: 'track',
    event: TRACKS[n % TRACKS.length],
    properties: {
      orderId: `order-${n}`,
      total: (n % 50_000) / 100,
      currency: 'EUR',
      items: ['kettle', 'Größe L'],
    },
  }
}

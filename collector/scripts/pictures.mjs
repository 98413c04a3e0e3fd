// Takes the pictures in the README. They change only if the page does: the clock and the events are always the same.
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { startCollector } from '../dist/index.js'
import { findBrowser } from './find-browser.mjs'

const [OPEN, REFUSED] = ['evt_4k7m2', 'evt_4k7q9']
const TEAS = Object.entries({ Gyokuro: 24.5, Darjeeling: 16.9, Assam: 9.8, Genmaicha: 12.6, Sencha: 14.2 })
const PEOPLE = ['usr_8f2k1', 'usr_7h3w5', 'usr_1b7m9', 'usr_4q8z2', 'usr_9c5t6', 'usr_2d4v8', 'usr_6x1p3']
const VIEW = { viewport: { width: 1440, height: 840 }, locale: 'en-GB', timezoneId: 'UTC' }

let time = Date.parse('2026-05-18T06:12:04.318Z')
const clock = {
  now: () => time,
  monotonic: () => performance.now(),
  random: () => 0.5,
  setTimer: (run, delayMs) => clearTimeout.bind(null, setTimeout(run, delayMs).unref()),
}

/** Starts a webhook that refuses one event. */
async function openWebhook(name, refused) {
  const server = createServer(async (request, response) => {
    response.writeHead((await request.toArray()).join('').includes(refused) ? 422 : 200).end()
  }).unref()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { name, type: 'webhook', url: `http://127.0.0.1:${server.address().port}/` }
}

const fields = { order_id: { type: 'string' }, total: { type: 'number' }, currency: { type: 'string' } }
const collector = await startCollector({
  port: 0,
  clock,
  plan: { track: { 'Order Completed': { properties: fields, required: Object.keys(fields) } } },
  config: { destinations: [await openWebhook('CRM', REFUSED), await openWebhook('Warehouse', 'none')] },
})

let sent = 0
async function send(source, afterSeconds, ...messages) {
  time += Math.round(afterSeconds * 1000)
  const timestamp = new Date(time - 240).toISOString()
  const batch = messages.map((message) => ({ messageId: `evt_${2000 + sent++}`, timestamp, ...message }))
  const response = await fetch(`${collector.url}/v1/batch`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Basic ${btoa(`${source}:`)}` },
    body: JSON.stringify({ batch, context: { library: { name: 'trackpost', version: '0.1.0' } } }),
  })
  if (!response.ok) throw new Error(`status ${response.status}: ${await response.text()}`)
}
const page = (userId, path) => ({ type: 'page', userId, name: 'Product', properties: { path } })
const track = (userId, event, properties) => ({ type: 'track', userId, event, properties })
const order = (userId, id, total) =>
  track(userId, 'Order Completed', { order_id: id, total, currency: 'EUR' })

for (let n = 0; n < 320; n++) {
  const [userId, [tea, price]] = [PEOPLE[n % PEOPLE.length], TEAS[n % TEAS.length]]
  const added = track(userId, 'Product Added', { tea, price, quantity: 1 + (n % 3) })
  await send('web-shop', 21.7 + ((n * 37) % 83), page(userId, `/tea/${tea.toLowerCase()}`), added)
  if (n % 4 === 0) await send('checkout-api', 18.43, order(userId, `${3016 + n / 4}`, price))
}
const checkout = track('usr_7h3w5', 'Checkout Started', { cart_id: 'c_320', items: 2, value: 33.8 })
const repeated = { ...checkout, messageId: 'evt_4k7h5', timestamp: new Date(time + 7900).toISOString() }
const home = { type: 'screen', anonymousId: 'anon_32e91', name: 'Home', properties: { tab: 'for-you' } }
const named = { type: 'identify', userId: 'usr_8f2k1', traits: { name: 'Zoë Brandt', plan: 'gold' } }
await send('web-shop', 8.209, repeated)
await send('web-shop', 1.306, repeated)
await send('ios-app', 5.907, home)
await send('web-shop', 3.118, track(undefined, 'Newsletter Subscribed', { list: 'tea-letters' }))
await send('web-shop', 2.711, named)
await send('checkout-api', 9.064, { ...order('usr_8f2k1', '3097', 57.4), messageId: OPEN })
await send('web-shop', 4.583, page('usr_1b7m9', '/tea/darjeeling'))
await send('checkout-api', 6.295, track('usr_7h3w5', 'Order Completed', { order_id: '3098', total: 33.8 }))
await send('checkout-api', 7.846, { ...order('usr_1b7m9', '3099', 16.9), messageId: REFUSED })

for (let pending = 1; pending > 0; ) {
  const { destinations } = await (await fetch(`${collector.url}/api/destinations`)).json()
  pending = destinations.reduce((sum, destination) => sum + destination.pending, 0)
}
const browser = await chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox'] })
for (const colorScheme of ['light', 'dark']) {
  const tab = await browser.newPage({ ...VIEW, colorScheme })
  await tab.clock.setFixedTime(time + 3000)
  await tab.goto(`${collector.url}/#/events?open=${collector.findLast({ messageId: OPEN }).id}`)
  for (const part of ['.panel .json', '#connection.live']) await tab.locator(part).waitFor()
  await tab.evaluate(() => document.fonts.ready)
  const file = new URL(colorScheme === 'dark' ? '../docs/page-dark.png' : '../docs/page.png', import.meta.url)
  await tab.screenshot({ path: fileURLToPath(file), animations: 'disabled' })
}
await browser.close()
await collector.close()

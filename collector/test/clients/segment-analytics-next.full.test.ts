import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Page } from 'playwright-core'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { browser, useBrowser } from '../browser.ts'
import { openCollector } from '../support.ts'

useBrowser()

/** The unchanged package, bundled for browsers. */
let library = ''
beforeAll(async () => {
  const result = await build({
    stdin: {
      contents: `export { AnalyticsBrowser } from '@segment/analytics-next'`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    bundle: true,
    format: 'iife',
    globalName: 'segment',
    write: false,
    logLevel: 'silent',
  })
  library = result.outputFiles[0]?.text ?? ''
})

/** The page has another origin than the collector. */
async function openShop(): Promise<{ page: Page; problems: string[] }> {
  const server = createServer((request, response) => {
    const isScript = request.url === '/library.js'
    response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html; charset=utf-8' })
    response.end(isScript ? library : '<!doctype html><title>Shop</title><script src="/library.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const page = await browser().newPage()
  const problems: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  onTestFinished(async () => {
    await page.close()
    server.close()
  })
  await page.goto(`http://localhost:${(server.address() as AddressInfo).port}/cart`)
  return { page, problems }
}

/** Runs in the page. Loads the library as in its documentation. */
async function sendAll({ settings, options }: { settings: object; options: object }): Promise<void> {
  // biome-ignore lint/suspicious/noExplicitAny: the global of the bundle, in another process
  const { AnalyticsBrowser } = (globalThis as any).segment
  const analytics = AnalyticsBrowser.load(settings, options)
  await analytics.identify('u1', { email: 'zoë@example.com' })
  await analytics.track('Order Completed', { total: 19.9 })
  await analytics.page('Cart')
  await analytics.screen('Home')
  await analytics.group('g1', { plan: 'gold' })
  await analytics.alias('u2', 'u1')
}

const strategies: Array<[name: string, deliveryStrategy: object | undefined]> = [
  ['one by one', undefined],
  ['in batches', { strategy: 'batching', config: { size: 6, timeout: 200 } }],
]

test.each(strategies)(
  '@segment/analytics-next, unchanged, sends %s from a page of another origin',
  async (_how, deliveryStrategy) => {
    const collector = await openCollector()
    const { page, problems } = await openShop()
    const apiHost = `${new URL(collector.url).host}/v1`

    await page.evaluate(sendAll, {
      settings: {
        writeKey: 'web-shop',
        cdnSettings: { integrations: { 'Segment.io': { apiKey: 'web-shop' } } },
      },
      options: { integrations: { 'Segment.io': { apiHost, protocol: 'http', deliveryStrategy } } },
    })

    const records = await collector.waitFor({ count: 6 })
    expect(records.map(({ type }) => type).sort()).toEqual([
      'alias',
      'group',
      'identify',
      'page',
      'screen',
      'track',
    ])
    expect(records.map(({ source, status }) => [source, status])).toEqual(
      Array(6).fill(['web-shop', 'accepted']),
    )
    expect(await collector.waitFor({ event: 'Order Completed' })).toMatchObject([
      { userId: 'u1', message: { properties: { total: 19.9 }, context: { page: { path: '/cart' } } } },
    ])
    expect(problems).toEqual([])
  },
)

test('@segment/analytics-next needs only cdnURL to use this collector', async () => {
  const collector = await openCollector()
  const { page, problems } = await openShop()

  await page.evaluate(sendAll, { settings: { writeKey: 'web shop', cdnURL: collector.url }, options: {} })

  const records = await collector.waitFor({ count: 6 })
  expect(records.map(({ source }) => source)).toEqual(Array(6).fill('web shop'))
  expect(problems).toEqual([])
})

test('a page of a site that is not allowed can neither send events nor read data', async () => {
  const collector = await openCollector({ config: { browserOrigins: ['https://shop.example'] } })
  const { page } = await openShop()

  const outcome = await page.evaluate(async (url) => {
    const attempt = (path: string, init: RequestInit) =>
      fetch(`${url}${path}`, init).then(
        (response) => response.type,
        () => 'refused',
      )
    const body = JSON.stringify({ userId: 'u', event: 'forged', writeKey: 'k' })
    return [
      await attempt('/v1/t', { method: 'POST', body }),
      await attempt('/v1/t', { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
      await attempt('/v1/t', { method: 'POST', body, mode: 'no-cors' }),
      navigator.sendBeacon(`${url}/v1/t`, body) && 'sent',
      await attempt('/api/events', {}),
      await attempt('/api/events', { method: 'DELETE' }),
      await attempt('/api/events?text=x', { mode: 'no-cors' }),
    ]
  }, collector.url)

  expect(outcome).toEqual(['refused', 'refused', 'opaque', 'sent', 'refused', 'refused', 'opaque'])
  // A page does not get the response to a beacon. When this later request has its response, the beacon has arrived too.
  await page.evaluate(
    (url) => fetch(`${url}/v1/t`, { method: 'POST', mode: 'no-cors', body: '{}' }),
    collector.url,
  )
  expect(collector.count()).toBe(0)
})

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { Analytics } from '../../src/index.ts'
import type { Collector } from '../src/index.ts'
import { openCollector, post, track } from './support.ts'

const CHROMIUM = '/usr/bin/chromium'
const artefacts = fileURLToPath(new URL('../test-results/', import.meta.url))

let browser: Browser
beforeAll(async () => {
  if (!existsSync(CHROMIUM)) {
    throw new Error(`${CHROMIUM} is missing; run collector/scripts/ensure-chromium.sh`)
  }
  mkdirSync(artefacts, { recursive: true })
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
}, 30_000)
afterAll(() => browser?.close())

/** Opens the page; an error in it, or a request to anywhere else, fails the test. */
async function openPage(collector: Collector, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1360, height: 800 },
    locale: 'en-GB',
    ...options,
  })
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(collector.url)) problems.push(`asked for ${request.url()}`)
  })
  onTestFinished(async () => {
    await context.close()
    expect(problems).toEqual([])
  })
  await page.goto(collector.url)
  await page.locator('#connection.live').waitFor()
  return page
}

const names = (page: Page) => page.locator('.row .name').allTextContents()
const screenshot = (page: Page, name: string) => page.screenshot({ path: join(artefacts, `${name}.png`) })

test('an empty collector says how to send a first event, with its own address, and shows it when it comes', async () => {
  const collector = await openCollector()
  const page = await openPage(collector)

  expect(await page.locator('#curl').textContent()).toContain(`${collector.url}/v1/track`)
  expect(await page.locator('#snippet').textContent()).toContain(`host: '${collector.url}'`)
  await screenshot(page, 'empty')
  await post(collector, '/v1/track', track({ event: 'Hello' }))

  await page.locator('.row', { hasText: 'Hello' }).waitFor()
  expect(await page.locator('#empty').isVisible()).toBe(false)
  expect(await page.locator('#total-accepted').textContent()).toBe('1')
})

test('events of an SDK appear while they come in, newest first, and a click shows the JSON', async () => {
  const collector = await openCollector()
  const page = await openPage(collector)
  const analytics = new Analytics({ writeKey: 'web-shop', host: collector.url, flushAt: 1 })

  analytics.track({
    userId: 'zoë-12',
    event: 'Order Completed',
    properties: { total: 19.9, note: '<b>bold</b>' },
  })
  await page.locator('.row', { hasText: 'Order Completed' }).waitFor()
  analytics.page({ userId: 'zoë-12', name: 'Thank you' })
  await page.locator('.row', { hasText: 'Thank you' }).waitFor()
  await analytics.closeAndFlush()

  expect(await names(page)).toEqual(['Thank you', 'Order Completed'])
  expect(await page.locator('.row').last().locator('span').allTextContents()).toEqual(
    expect.arrayContaining(['web-shop', 'track', 'Order Completed', 'zoë-12', 'accepted']),
  )
  await page.locator('.row', { hasText: 'Order Completed' }).click()
  await page.locator('#detail').waitFor()
  const json = (await page.locator('#json').textContent()) ?? ''
  expect(JSON.parse(json)).toMatchObject({ event: 'Order Completed', properties: { note: '<b>bold</b>' } })
  expect(json).toContain('\n  "type": "track"')
  expect(await page.locator('#json b').count()).toBe(0)
})

test('a rejected event shows its reason, and in words when it is opened', async () => {
  const collector = await openCollector()
  const page = await openPage(collector)

  await post(collector, '/v1/track', { userId: 'u1' })
  const row = page.locator('.row', { hasText: 'no_event' })
  await row.click()

  await page.locator('#facts', { hasText: 'a track needs an event name' }).waitFor()
  expect(await page.locator('#total-rejected').textContent()).toBe('1')
})

test('where an event went, and why not elsewhere, is shown', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'out.ndjson')
  const destinations = [
    { name: 'Lines', type: 'file' as const, path },
    { name: 'Warehouse', type: 'file' as const, path },
  ]
  const collector = await openCollector({ config: { destinations } })
  const page = await openPage(collector)

  await post(collector, '/v1/track', track({ integrations: { Warehouse: false } }))

  await page.locator('.row', { hasText: '✓ Lines' }).locator('.pill', { hasText: '– Warehouse' }).waitFor()
  await page.locator('.row').click()
  await page.locator('#facts', { hasText: 'skipped: turned off by integrations' }).waitFor()
})

async function openWithMix(): Promise<{ collector: Collector; page: Page }> {
  const collector = await openCollector()
  await post(collector, '/v1/batch', {
    batch: [
      track({ event: 'A', properties: { sku: 'kettle-9' } }),
      { type: 'page', userId: 'u', name: 'B' },
      { type: 'track', userId: 'nameless' },
    ],
  })
  await post(collector, '/v1/track', track({ event: 'C' }), { authorization: `Basic ${btoa('mobile:')}` })
  const page = await openPage(collector)
  await page.locator('.row').nth(3).waitFor()
  return { collector, page }
}

test('filters by kind, source, status and text narrow the list, live ones too', async () => {
  const { collector, page } = await openWithMix()
  const shows = (...expected: string[]) => expect.poll(() => names(page)).toEqual(expected)

  await page.selectOption('[name=type]', 'page')
  await shows('B')
  await page.selectOption('[name=type]', '')
  await page.selectOption('[name=source]', 'mobile')
  await shows('C')
  await page.selectOption('[name=source]', '')
  await page.selectOption('[name=status]', 'rejected')
  await shows('–')
  await page.selectOption('[name=status]', '')
  await page.fill('[name=text]', 'KETTLE')
  await shows('A')
  await post(collector, '/v1/batch', {
    batch: [track({ event: 'D' }), track({ event: 'E', properties: { sku: 'kettle-10' } })],
  })
  await shows('E', 'A')
  await page.fill('[name=text]', 'nothing like it')
  await page.locator('#no-match').waitFor()
  await page.click('#reset-empty')
  await shows('E', 'D', 'C', '–', 'B', 'A')
})

test('pause holds the list still and counts what comes; clear empties it', async () => {
  const { collector, page } = await openWithMix()

  await page.click('#pause')
  await post(collector, '/v1/track', track({ event: 'F' }))
  await page.locator('#pause', { hasText: 'Resume (1 new)' }).waitFor()
  expect(await page.locator('.row').count()).toBe(4)
  await page.click('#pause')
  await page.locator('.row', { hasText: 'F' }).waitFor()

  page.once('dialog', (dialog) => dialog.accept())
  await page.click('#clear')
  await page.locator('#empty').waitFor()
  expect(collector.count()).toBe(0)
  expect(await page.locator('#total-accepted').textContent()).toBe('0')
})

test('everything can be done with the keyboard', async () => {
  const { page } = await openWithMix()

  await page.keyboard.press('/')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('text')
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.locator('.row[aria-selected=true]', { hasText: 'nameless' }).waitFor()
  await page.keyboard.press('Enter')
  await page.locator('#detail').waitFor()
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('close')
  await page.keyboard.press('Escape')
  expect(await page.locator('#detail').isVisible()).toBe(false)
  expect(await page.evaluate(() => document.activeElement?.id)).toBe('list')
  expect(await page.locator('#list').getAttribute('aria-activedescendant')).toMatch(/^event-\d+$/)
})

test('the page finds its way back to a collector that was started again', async () => {
  const first = await openCollector()
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  await page.goto(first.url)
  await page.locator('#connection.live').waitFor()

  await first.close()
  await page.locator('#connection.lost').waitFor()
  const second = await openCollector({ port: first.port })
  await post(second, '/v1/track', track({ event: 'After the restart' }))

  await page.locator('.row', { hasText: 'After the restart' }).waitFor()
})

test('100,000 events do not slow the page', async () => {
  const collector = await openCollector()
  const batch = Array.from({ length: 1000 }, (_, index) => ({
    type: 'track',
    userId: `user-${index % 50}`,
    event: `Event ${index}`,
  }))
  const body = JSON.stringify({ batch })
  for (let i = 0; i < 50; i++) await post(collector, '/v1/batch', body)
  const page = await openPage(collector)
  await page.locator('.row').first().waitFor()
  await page.evaluate(() => {
    const watch = { longest: 0 }
    Object.assign(window, { watch })
    new PerformanceObserver((entries) => {
      for (const { duration } of entries.getEntries()) watch.longest = Math.max(watch.longest, duration)
    }).observe({ type: 'longtask' })
  })

  // The second half arrives while the page watches.
  for (let i = 0; i < 50; i++) await post(collector, '/v1/batch', body)
  await expect.poll(() => page.locator('#total-accepted').textContent()).toBe('100,000')
  await post(collector, '/v1/track', track({ event: 'The last one' }))
  await page.locator('.row', { hasText: 'The last one' }).waitFor()
  const startMs = performance.now()
  await page.locator('.row', { hasText: 'Event 999' }).first().click()
  await page.locator('#detail').waitFor()
  const clickMs = performance.now() - startMs
  const inDocument = await page.locator('.row').count()
  // Scrolling down fetches older ones.
  const list = page.locator('#list')
  await list.evaluate((node) => node.scrollTo(0, node.scrollHeight))
  await expect.poll(() => list.evaluate((node) => node.scrollHeight)).toBeGreaterThan(300 * 36)
  const { longest } = await page.evaluate(() => (window as unknown as { watch: { longest: number } }).watch)

  expect(inDocument).toBeLessThan(60)
  // Far above what it takes, for a machine that does other things too; all rows drawn would take many times as long.
  expect(clickMs).toBeLessThan(3000)
  expect(longest).toBeLessThan(1000)
}, 40_000)

test('light, dark and phone width: nothing runs over the edge, and all of it can be looked at', async () => {
  const path = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'out.ndjson')
  const collector = await openCollector({
    config: {
      destinations: [
        { name: 'Warehouse', type: 'file', path },
        { name: 'CRM', type: 'webhook', url: 'http://127.0.0.1:9/', firstDelay: 60_000 },
      ],
    },
  })
  await sendDemo(collector)

  for (const [name, options] of [
    ['light', {}],
    ['dark', { colorScheme: 'dark' }],
    ['phone', { viewport: { width: 390, height: 780 }, colorScheme: 'light', hasTouch: true }],
    ['phone-dark', { viewport: { width: 360, height: 700 }, colorScheme: 'dark' }],
    ['tablet', { viewport: { width: 820, height: 900 } }],
  ] as Array<[string, BrowserContextOptions]>) {
    const page = await openPage(collector, options)
    await page.locator('.row', { hasText: 'Order Completed' }).first().waitFor()
    await screenshot(page, name)
    await page.locator('.row', { hasText: 'Order Completed' }).first().click()
    await page.locator('#detail').waitFor()
    await screenshot(page, `${name}-detail`)
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
    expect({ name, overflow }).toEqual({ name, overflow: 0 })
  }
}, 40_000)

/** Events like those of a small shop, some of them wrong. */
async function sendDemo(collector: Collector): Promise<void> {
  const script = fileURLToPath(new URL('../scripts/demo-events.js', import.meta.url))
  await promisify(execFile)(process.execPath, [script, collector.url, '300'])
}

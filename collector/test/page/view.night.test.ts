import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { openPage, panel, row } from './support.ts'

useBrowser()

const PHONE = { viewport: { width: 390, height: 844 } }

/** The width in pixels of the hidden part of an element. */
const hidden = (page: Page, selector: string) =>
  page
    .locator(selector)
    .first()
    .evaluate((node) => node.scrollWidth - node.clientWidth)

test.each([1440, 390])('%i px: no type, value or id is wider than its screen', async (width) => {
  const collector = await openCollector()
  const batch = [1.5, 2, 'three', true, null].map((total) =>
    track({ event: 'Order', properties: { total, text: 'one two three four five six seven' } }),
  )
  await post(collector, '/v1/batch', { batch })
  await post(collector, '/v1/track', track({ event: 'Long', userId: 'u'.repeat(300) }))
  const page = await openPage(collector, {
    at: 'catalogue?key=track:Order',
    viewport: { width, height: 900 },
  })

  await page.locator('.fields .inconsistent').waitFor()
  expect(await hidden(page, '.panel, .drawer')).toBe(0)
  expect(await hidden(page, '.fields')).toBe(0)
  await page.goto(`${collector.url}/#/users?id=${'u'.repeat(300)}`)
  await page.locator('.panel h2, .drawer h2').waitFor()
  expect(await hidden(page, '.panel, .drawer')).toBe(0)
})

test('on a phone, destinations do not cover the time, and two failed ones are shown as a number', async () => {
  const dead = { type: 'webhook' as const, url: 'http://127.0.0.1:9/', maxAttempts: 1 }
  const path = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'out.ndjson')
  const name = 'A destination whose name is the title of a ticket'
  const destinations = [
    { ...dead, name },
    { ...dead, name: 'Second' },
    { name: 'Lines', type: 'file' as const, path },
  ]
  const collector = await openCollector({ config: { destinations } })
  const one = track({ event: 'One failed', integrations: { Second: false } })
  await post(collector, '/v1/batch', { batch: [one, track({ event: 'Two failed' })] })
  const page = await openPage(collector, PHONE)

  await row(page, 'One failed').locator('.pill.bad', { hasText: 'A destination' }).waitFor()
  await row(page, 'Two failed').locator('.pill.bad', { hasText: '✕ 2' }).waitFor()
  for (const event of ['One failed', 'Two failed']) {
    const right = await row(page, event).locator('.deliveries .pill.bad').boundingBox()
    const time = await row(page, event).locator('.time .cell-text').boundingBox()
    expect((right?.x ?? 0) + (right?.width ?? 0)).toBeLessThan(time?.x ?? 0)
  }
})

test('what was delivered is no badge, and a badge that has no room is left out instead of cut', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'trackpost-collector-'))
  const destinations = [
    { name: 'Customer success', type: 'webhook' as const, url: 'http://127.0.0.1:9/', maxAttempts: 1 },
    { name: 'Lines', type: 'file' as const, path: join(folder, 'a') },
    { name: 'More lines', type: 'file' as const, path: join(folder, 'b') },
  ]
  const collector = await openCollector({ config: { destinations } })
  const delivered = track({ event: 'All', integrations: { 'Customer success': false } })
  await post(collector, '/v1/batch', { batch: [delivered, track({ event: 'Some' })] })
  const page = await openPage(collector)

  await row(page, 'All').locator('.deliveries .state-word', { hasText: '2 of 2' }).waitFor()
  expect(await row(page, 'All').locator('.deliveries .pill').count()).toBe(0)
  await row(page, 'Some').locator('.deliveries .pill.bad', { hasText: 'Customer success' }).waitFor()
  const visible = await row(page, 'Some')
    .locator('.deliveries .cell-text')
    .evaluate((cell) => {
      const { bottom } = cell.getBoundingClientRect()
      return [...cell.children].flatMap((badge) =>
        badge.getBoundingClientRect().top < bottom ? [badge.textContent] : [],
      )
    })
  expect(visible).toEqual(['✕ Customer success'])
})

test('the menu of a value is visible, even at the lower edge of the window', async () => {
  const collector = await openCollector()
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`value${index}`, index]))
  await post(collector, '/v1/track', track({ event: 'Many', properties }))
  const page = await openPage(collector, PHONE)
  await row(page, 'Many').click()
  const keys = panel(page).locator('.json button.key')
  await keys.last().waitFor()

  // The value is at the lower edge of the window, where a menu below it has no room.
  const key = keys.filter({ hasText: 'value10' })
  await key.evaluate((node) => node.scrollIntoView({ block: 'end' }))
  await key.click()

  const last = page.getByRole('button', { name: 'Copy the path' })
  await last.waitFor()
  await expect.poll(async () => ((await last.boundingBox())?.y ?? 1000) + 20).toBeLessThan(844)
})

test('a screen shows that it waits for its data', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track())
  const page = await openPage(collector, { at: 'nowhere' })
  await page.route(/\/api\/(overview|users|catalogue|problems|destinations|events\/)/, () => {})

  const screens = [
    'overview',
    'users',
    'users?id=a',
    'catalogue',
    'problems',
    'destinations',
    'events?open=1',
  ]
  for (const at of screens) {
    await page.goto(`${collector.url}/#/${at}`)
    await page.locator('main .loading, .panel .loading').first().waitFor()
  }
})

test('a list that could not be loaded has a button to try again, and its search is not reported as invalid', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A' }))
  const page = await openPage(collector, { at: 'nowhere', expected: /503/ })
  const busy = { success: false, code: 'too_many_questions', message: 'try again later' }
  await page.route('**/api/events?*', (route) => route.fulfill({ status: 503, json: busy }))
  await page.goto(`${collector.url}/#/events`)
  const again = page.getByRole('button', { name: 'Try again' })
  await again.waitFor()
  expect(await page.getByLabel('Search events').getAttribute('aria-invalid')).toBe('false')

  await page.unroute('**/api/events?*')
  await again.click()

  await row(page, 'A').waitFor()
})

test('a request for users never exceeds the limit of the collector', async () => {
  const collector = await openCollector()
  // The user in the answer below does not exist, so its details are not found.
  const page = await openPage(collector, { at: 'nowhere', expected: /404/ })
  const limits: number[] = []
  await page.route('**/api/users?*', (route) => {
    limits.push(Number(new URL(route.request().url()).searchParams.get('limit')))
    const user = { id: 'a', userId: 'a', anonymousId: null, count: 1, lastSeen: '2026-05-17T09:30:00Z' }
    return route.fulfill({ json: { users: [user], next: '1' } })
  })
  await page.goto(`${collector.url}/#/users`)
  const more = page.getByRole('button', { name: 'Show more' })
  await more.waitFor()
  for (let asked = 1; (await more.count()) > 0; asked++) {
    await more.click()
    await expect.poll(() => limits.length).toBeGreaterThan(asked)
  }

  const most = Math.max(...limits)
  expect((await fetch(`${collector.url}/api/users?limit=${most}`)).status).toBe(200)
  expect((await fetch(`${collector.url}/api/users?limit=${most + 1}`)).status).toBe(400)
})

test('the chart for all time begins with the first event or request, not in 1970', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/nowhere', {})
  await post(collector, '/v1/track', track())
  const page = await openPage(collector, { at: 'overview?since=all' })

  await page.locator('.block-head', { hasText: /events in each (10 )?(second|minute)/ }).waitFor()
  await page.locator('.figure-received', { hasText: '2 requests' }).waitFor()
})

test.each([1440, 390])(
  '%i px: when a menu, a dialog or an event is closed, the focus returns to where it was',
  async (width) => {
    const collector = await openCollector()
    await post(collector, '/v1/track', track({ event: 'Order' }))
    const page = await openPage(collector, { viewport: { width, height: 844 } })
    const hasFocus = (selector: string) => page.locator(`${selector}:focus`).waitFor()
    await row(page, 'Order').waitFor()

    const more = page.getByRole('button', { name: 'More', exact: true })
    await more.press('Enter')
    await page.getByRole('button', { name: 'Keyboard and search' }).press('Enter')
    await page.getByRole('dialog').waitFor()
    await page.keyboard.press('Escape')
    await hasFocus('[aria-label=More]')

    await page.locator('.list').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const key = panel(page).locator('.json button.key', { hasText: 'total' })
    await key.press('Enter')
    await hasFocus('.menu button')
    await page.keyboard.press('Escape')
    await hasFocus('.json button.key')
    await page.keyboard.press('Escape')
    await hasFocus('.list')
  },
)

test('in rows of two lines, times and destinations stand in one column, whatever the status says', async () => {
  const hook = { type: 'webhook' as const, url: 'http://127.0.0.1:9/', firstDelay: 60_000 }
  const collector = await openCollector({
    config: {
      destinations: [
        { ...hook, name: 'CRM' },
        { ...hook, name: 'Warehouse' },
      ],
    },
    plan: { track: { Bought: { required: ['total'] } } },
  })
  await post(collector, '/v1/track', track({ event: 'Bought', properties: {} }))
  await post(collector, '/v1/track', track({ event: 'Looked', timestamp: '2026-05-17T09:30:00' }))
  await post(collector, '/v1/identify', { userId: 'ada', traits: { plan: 'pro' } })
  const page = await openPage(collector, { viewport: { width: 768, height: 800 } })
  await row(page, 'Bought').locator('.deliveries .pill', { hasText: '0 of 2' }).waitFor()

  for (const width of [768, 390]) {
    await page.setViewportSize({ width, height: 800 })
    const places = await page.locator('.list .row:has(.kind)').evaluateAll(
      (rows, hasSource) =>
        rows.map((one) => {
          const { top } = one.getBoundingClientRect()
          const box = (selector: string) => one.querySelector(selector)?.getBoundingClientRect()
          return {
            time: box('.time')?.right,
            // To the pixel: the parts of a pixel depend on the font.
            line: Math.abs((box('.kind')?.top ?? 0) - top - 31) < 1,
            deliveries: box('.deliveries')?.right,
            kind: box('.kind')?.left,
            hasUser: (box('.user')?.width ?? 0) > 60,
            source: hasSource ? box('.source')?.right : undefined,
          }
        }),
      width === 390,
    )
    expect(places).toHaveLength(3)
    expect(places[0]?.hasUser).toBe(true)
    expect({ width, places }).toEqual({ width, places: Array(3).fill(places[0]) })
  }
})

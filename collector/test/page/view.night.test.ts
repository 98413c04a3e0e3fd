import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { figure, openPage, panel, row } from './support.ts'

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

test('the chart for all time begins with the first event or request, not in 1970', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/nowhere', {})
  await post(collector, '/v1/track', track())
  const page = await openPage(collector, { at: 'overview?since=all' })

  await page.locator('.block-head', { hasText: /events in each (10 )?(second|minute)/ }).waitFor()
  await figure(page, 'Received').getByText('2 requests').waitFor()
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

    await page.goto(`${collector.url}/#/catalogue`)
    await page.locator('.entries a').press('Enter')
    await panel(page).getByRole('button', { name: 'Copy JSON Schema' }).focus()
    await page.keyboard.press('Escape')
    await hasFocus('.entries a')
  },
)

test('the keys belong to a screen that was chosen in the menu of a narrow window, or by a link', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: '' }))
  const page = await openPage(collector, { at: 'problems', viewport: { width: 390, height: 844 } })

  await page.getByRole('link', { name: '1 event' }).press('Enter')
  await page.locator('#content:focus').waitFor()
  await page.locator('.screen-button').press('Enter')
  await page.getByRole('navigation').getByRole('link', { name: 'Requests' }).press('Enter')
  await row(page, '/v1/track').waitFor()
  await page.keyboard.press('Enter')
  await panel(page).getByRole('button', { name: 'Send again' }).press('Enter')
  await page.locator('.notice', { hasText: 'Sent again' }).waitFor()
  await panel(page).locator('button:focus', { hasText: 'Send again' }).waitFor()
})

import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { names, openPage, openWithMix, panel, row } from './support.ts'

useBrowser()

test('the arrow keys move in a menu, and Escape closes only the menu', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A' }))
  const page = await openPage(collector)
  await row(page, 'A').click()
  await panel(page).waitFor()

  const focused = () => page.evaluate(() => document.activeElement?.textContent)
  await page.getByRole('button', { name: 'Status', exact: true }).press('Enter')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toBe('did not arrive')
  await page.keyboard.press('ArrowUp')
  expect(await focused()).toBe('has a warning')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  expect(await focused()).toContain('accepted')
  await page.keyboard.press('Escape')
  await expect.poll(() => page.locator('.menu:popover-open').count()).toBe(0)
  expect(await panel(page).count()).toBe(1)
})

test('after a click on Pause, or after scrolling down, the list stops and new events are counted', async () => {
  const { collector, page } = await openWithMix()

  await page.getByRole('button', { name: 'Pause' }).click()
  await post(collector, '/v1/track', track({ event: 'F' }))
  await page.locator('.new-events', { hasText: '1 new event' }).waitFor()
  expect(await names(page)).toHaveLength(4)
  await page.getByRole('button', { name: 'Resume' }).click()
  await row(page, 'F').waitFor()

  const batch = Array.from({ length: 60 }, (_, index) => track({ event: `Many ${index}` }))
  await post(collector, '/v1/batch', { batch })
  await row(page, 'Many 59').waitFor()
  const list = page.locator('.list')
  await list.evaluate((node) => node.scrollTo(0, 600))
  const first = async () => (await names(page))[12]
  await expect.poll(first).toMatch(/^Many/)
  await page.waitForTimeout(100)
  const before = await first()
  await post(collector, '/v1/batch', { batch: [track({ event: 'New 1' }), track({ event: 'New 2' })] })
  await page.locator('.new-events', { hasText: '2 new events' }).waitFor()
  expect(await first()).toBe(before)
  await page.locator('.new-events').click()
  await row(page, 'New 2').waitFor()
  expect(await page.locator('.new-events').count()).toBe(0)
})

test('with 20,000 events, the document has few rows, and scrolling fetches older events', async () => {
  const collector = await openCollector()
  const batch = Array.from({ length: 1000 }, (_, index) => ({
    type: 'track',
    userId: `user-${index % 50}`,
    event: `Event ${index}`,
  }))
  const body = JSON.stringify({ batch })
  for (let i = 0; i < 10; i++) await post(collector, '/v1/batch', body)
  const page = await openPage(collector)
  await page.locator('.list .row').first().waitFor()
  // The second half of the events arrives while the page is open.
  for (let i = 0; i < 10; i++) await post(collector, '/v1/batch', body)
  await expect.poll(() => page.title()).toContain('20,000 events')
  await post(collector, '/v1/track', track({ event: 'The last one' }))
  await row(page, 'The last one').waitFor()
  await row(page, 'Event 999').first().click()
  await panel(page).locator('.json').waitFor()
  const inDocument = await page.locator('.list .row').count()
  // Scrolling down fetches older events.
  const list = page.locator('.list')
  await list.evaluate((node) => node.scrollTo(0, node.scrollHeight))
  await expect.poll(() => list.evaluate((node) => node.scrollHeight)).toBeGreaterThan(300 * 30)
  expect(inDocument).toBeLessThan(70)
})

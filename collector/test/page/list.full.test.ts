import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { openPage, openWithMany, panel, row } from './support.ts'

useBrowser()

test('no row moves under the pointer: while it is in the list, new events are counted above it', async () => {
  const collector = await openWithMany()
  const page = await openPage(collector)
  await row(page, 'Event 149').waitFor()
  const title = await page.locator('.screen-head h2').boundingBox()
  const target = row(page, 'Event 147')
  await target.hover()
  const before = await target.boundingBox()

  for (let n = 0; n < 8; n++) {
    await post(collector, '/v1/track', track({ event: `Later ${n}` }))
    await page.locator('.new-events', { hasText: new RegExp(`^\\s*${n + 1} new event`) }).waitFor()
    expect(await target.boundingBox()).toEqual(before)
  }
  await page.mouse.down()
  await page.mouse.up()
  await panel(page).locator('h2', { hasText: 'Event 147' }).waitFor()
  await page.keyboard.press('Escape')
  // The button covers no row and moves none.
  expect(await page.locator('.screen-head h2').boundingBox()).toEqual(title)
  await page.locator('.new-events').click()
  await row(page, 'Later 7').waitFor()
  // With the pointer and the focus elsewhere, the list follows again.
  await post(collector, '/v1/track', track({ event: 'Last' }))
  await row(page, 'Last').waitFor()
})

test('a text that looks like a number is in quotes in the list, so that it is not taken for one', async () => {
  const collector = await openCollector()
  await post(
    collector,
    '/v1/track',
    track({ event: 'Text', properties: { total: '49', ok: 'true', tea: 'Assam' } }),
  )
  await post(collector, '/v1/track', track({ event: 'Number', properties: { total: 49, ok: true } }))
  const page = await openPage(collector)

  const values = (event: string) => row(page, event).locator('.preview > span > bdi').allTextContents()
  await row(page, 'Number').waitFor()
  expect(await values('Text')).toEqual(['"49"', '"true"', 'Assam'])
  expect(await values('Number')).toEqual(['49', 'true'])
})

test('Enter opens no row while the rows are still those of the search before', async () => {
  const collector = await openWithMany()
  const page = await openPage(collector)
  await row(page, 'Event 149').waitFor()
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  await page.route('**/api/events?*event*', async (route) => {
    await held
    await route.continue()
  })

  await page.fill('main input[name=search]', 'event:"Event 3"')
  await page.keyboard.press('Enter')
  await page.locator('.list[aria-busy=true]').focus()
  await page.keyboard.press('Enter')
  expect(page.url()).not.toContain('open=')
  answer()
  await row(page, 'Event 3').waitFor()
  await page.locator('.list[aria-busy=false]').focus()
  await page.keyboard.press('Enter')
  await panel(page).locator('h2', { hasText: 'Event 3' }).waitFor()
})

test('a click in the middle of a row opens the event, and a click on the sign beside its name shows only this name', async () => {
  const collector = await openWithMany()
  const page = await openPage(collector)
  for (const width of [1440, 1280, 1100, 900, 768, 390]) {
    await page.setViewportSize({ width, height: 800 })
    const one = page.locator('.list .row:has(.name)').nth(2)
    // A person's hand is no more exact than this.
    const { x, y, width: wide, height } = (await one.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    for (const part of [0.45, 0.5, 0.55]) {
      await page.mouse.move(x + wide * part, y + height / 2)
      const isOnRow = await page.evaluate(
        ([left, top]) => document.elementFromPoint(left, top)?.closest('button') === null,
        [x + wide * part, y + height / 2] as const,
      )
      expect({ width, part, isOnRow }).toEqual({ width, part, isOnRow: true })
    }
  }
  await page.setViewportSize({ width: 1440, height: 800 })
  await row(page, 'Event 140').click()
  await panel(page).locator('h2', { hasText: 'Event 140' }).waitFor()
  await page.keyboard.press('Escape')
  await row(page, 'Event 141').locator('.name').hover()
  await row(page, 'Event 141').locator('.name .narrow').click()
  await page.locator('.chip', { hasText: 'Event 141' }).waitFor()
})

test('a row says in words that its event breaks the tracking plan or has a warning', async () => {
  const collector = await openCollector({ plan: { track: { Bought: { required: ['total'] } } } })
  await post(collector, '/v1/track', track({ event: 'Bought', properties: {} }))
  await post(collector, '/v1/track', track({ event: 'Late', timestamp: '2026-05-17T09:30:00' }))
  const page = await openPage(collector)

  const broken = row(page, 'Bought').locator('.status .pill')
  expect(await broken.textContent()).toBe('breaks the plan')
  expect(await broken.getAttribute('title')).toBe('accepted, but:\n1 violation of the tracking plan')
  await row(page, 'Late').locator('.status .pill', { hasText: 'has a warning' }).waitFor()
  await row(page, 'Bought').locator('.status').hover()
  await row(page, 'Bought').locator('.status .narrow').click()
  await page.getByRole('button', { name: 'Status: breaks the tracking plan', exact: true }).waitFor()
  await expect.poll(() => page.locator('.list .row').count()).toBe(1)
})

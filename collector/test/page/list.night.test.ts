import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { post, track } from '../support.ts'
import { openPage, openWithMany, row } from './support.ts'

useBrowser()

async function press(page: Page, key: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await page.keyboard.press(key)
}

/** The title of the selected row, if the row is completely visible: neither cut off nor under the column headings. */
const wholeSelected = (page: Page) =>
  page.evaluate(() => {
    const list = document.querySelector('.list')?.getBoundingClientRect()
    const top = document.querySelector('.columns')?.getBoundingClientRect().bottom ?? list?.top
    const selected = document.querySelector('.list .row[aria-selected=true]')
    const box = selected?.getBoundingClientRect()
    if (list === undefined || top === undefined || box === undefined) return undefined
    const isWhole = box.top >= top && box.bottom <= list.bottom + 1
    return isWhole ? selected?.querySelector('.title')?.textContent : undefined
  })

test('arrow keys scroll a long list, and at its top new items are shown again when the focus leaves', async () => {
  const collector = await openWithMany()
  const page = await openPage(collector)
  await row(page, 'Event 149').waitFor()

  await press(page, 'ArrowDown', 60)
  await expect.poll(() => wholeSelected(page)).toBe('Event 90')
  await press(page, 'ArrowUp', 40)
  await expect.poll(() => wholeSelected(page)).toBe('Event 130')
  await page.keyboard.press('End')
  await expect.poll(() => wholeSelected(page)).toBe('Event 0')
  await page.keyboard.press('Home')
  await expect.poll(() => wholeSelected(page)).toBe('Event 149')
  await post(collector, '/v1/track', track({ event: 'Later' }))
  await page.locator('.new-events', { hasText: '1 new event' }).waitFor()
  expect(await wholeSelected(page)).toBe('Event 149')
  await page.keyboard.press('Escape')
  await row(page, 'Later').waitFor()
})

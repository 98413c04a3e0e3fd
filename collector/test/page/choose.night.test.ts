import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { basic, openCollector, post, track } from '../support.ts'
import { names, openPage, row, search, shows } from './support.ts'

useBrowser()

async function openWithFour() {
  const collector = await openCollector()
  for (const event of ['A', 'B', 'C', 'D']) await post(collector, '/v1/track', track({ event }))
  const page = await openPage(collector, { permissions: ['clipboard-read', 'clipboard-write'] })
  await shows(page, 'D', 'C', 'B', 'A')
  return { collector, page }
}

test('chosen events can be copied, and are deleted after a question that names their number', async () => {
  const { collector, page } = await openWithFour()
  const place = await row(page, 'B').boundingBox()
  await page.getByLabel('Choose C', { exact: true }).click()
  expect(await row(page, 'B').boundingBox()).toEqual(place)
  await page.getByLabel('Choose A', { exact: true }).click({ modifiers: ['Shift'] })
  await page.getByText('3 events chosen').waitFor()

  await page.getByRole('button', { name: 'Copy', exact: true }).click()
  await page.locator('.notice', { hasText: '3 events copied' }).waitFor()
  const lines = (await page.evaluate(() => navigator.clipboard.readText())).trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(['C', 'B', 'A'])
  await page.getByRole('button', { name: 'Delete…' }).click()
  const dialog = page.getByRole('dialog', { name: 'Delete: 3 events?' })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  expect(collector.count()).toBe(4)
  await page.getByRole('button', { name: 'Delete…' }).click()
  await dialog.getByRole('button', { name: 'Delete (3)' }).click()

  await shows(page, 'D')
  expect(collector.events().map(({ name }) => name)).toEqual(['D'])
  await page.getByLabel('Choose D', { exact: true }).waitFor()
  expect(await page.locator('.picked-bar').count()).toBe(0)
})

test('all events of a search can be deleted, and the others stay', async () => {
  const { collector, page } = await openWithFour()
  await search(page, 'event:A,B')
  await shows(page, 'B', 'A')

  await page.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete (2)' }).click()

  await expect.poll(() => collector.events().map(({ name }) => name)).toEqual(['C', 'D'])
})

test('x chooses the current row, and ? shows the keys', async () => {
  const { page } = await openWithFour()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('x')
  await page.getByText('1 event chosen').waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Keyboard and search' }).waitFor()
})

test('the search line suggests, completes with the keyboard, and judges only when one stops typing', async () => {
  const { page } = await openWithFour()
  const field = page.getByLabel('Search events')

  await field.pressSequentially('eve')
  await page
    .getByRole('option', { name: /^event:/ })
    .first()
    .waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  expect(await field.inputValue()).toBe('event:')
  // Half of a term is no mistake: the list stays as it is.
  expect(await field.getAttribute('aria-invalid')).toBe('false')
  expect(await names(page)).toHaveLength(4)
  await field.pressSequentially('B')
  await page.keyboard.press('Enter')

  await shows(page, 'B')
  await page.locator('.chip', { hasText: 'event:B' }).waitFor()
})

test('the filters show what has arrived, with numbers, and can be combined and removed', async () => {
  const { collector, page } = await openWithFour()
  await post(collector, '/v1/page', { userId: 'u', name: 'Cart' }, { authorization: basic('mobile') })
  await row(page, 'Cart').waitFor()

  await page.getByRole('button', { name: 'Source', exact: true }).click()
  await page.getByRole('button', { name: 'shop 4' }).waitFor()
  await page.getByRole('button', { name: 'mobile 1' }).click()
  await shows(page, 'Cart')
  await page.getByRole('button', { name: 'Remove Source: mobile' }).click()
  await page.getByRole('button', { name: 'Time', exact: true }).click()
  await page.getByRole('button', { name: 'Last 5 minutes' }).click()
  await page.getByRole('button', { name: 'Time: the last 5 minutes', exact: true }).waitFor()
  await expect.poll(() => names(page)).toHaveLength(5)
})

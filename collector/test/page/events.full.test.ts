import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Analytics } from '../../../src/index.ts'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { names, openPage, openWithMix, panel, row, search, shows } from './support.ts'

useBrowser()

const outFile = () => join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'out.ndjson')

test('the page of an empty collector explains how to send a first event to this collector, and shows the event when it arrives', async () => {
  const collector = await openCollector()
  const page = await openPage(collector)

  expect(await page.locator('#curl').textContent()).toContain(`${collector.url}/v1/track`)
  expect(await page.locator('#snippet').textContent()).toContain(`host: '${collector.url}'`)
  await post(collector, '/v1/track', track({ event: 'Hello' }))

  await row(page, 'Hello').waitFor()
  expect(await page.locator('.first-steps').count()).toBe(0)
  await expect.poll(() => page.title()).toContain('1 event ·')
})

test('if sources are configured, the page says that the example needs a key of one of them', async () => {
  const collector = await openCollector({ config: { sources: [{ name: 'berlin', writeKey: 'secret' }] } })
  const page = await openPage(collector)

  await page.locator('.first-steps', { hasText: 'berlin' }).waitFor()
  const text = (await page.locator('.first-steps').textContent()) ?? ''
  expect(text).toContain('unknown_write_key')
  expect(text).not.toContain('Any write key will do')
  expect(text).not.toContain('my-key')
  expect(text).not.toContain('secret')
})

test('events of an SDK appear as they arrive, newest first, and a click shows their content', async () => {
  const collector = await openCollector()
  const page = await openPage(collector)
  const analytics = new Analytics({ writeKey: 'web-shop', host: collector.url, flushAt: 1 })

  analytics.track({ userId: 'zoë-12', event: 'Order Completed', properties: { total: 19.9 } })
  await row(page, 'Order Completed').waitFor()
  analytics.page({ userId: 'zoë-12', name: 'Thank you' })
  await row(page, 'Thank you').waitFor()
  await analytics.closeAndFlush()

  expect(await names(page)).toEqual(['Thank you', 'Order Completed'])
  const text = (await row(page, 'Order Completed').textContent()) ?? ''
  for (const part of ['web-shop', 'track', 'zoë-12', 'accepted', '19.9']) expect(text).toContain(part)
  await row(page, 'Order Completed').click()
  await panel(page).locator('.json', { hasText: 'Order Completed' }).waitFor()
  expect(await panel(page).locator('.json').textContent()).toContain('total:19.9')
})

test('fields that the collector added or changed are marked, with the value that was sent', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', {
    ...track({ event: 'Late', timestamp: '2026-05-17T09:30:00.000Z' }),
    sentAt: '2026-05-17T09:30:00.000Z',
  })
  const page = await openPage(collector)
  await row(page, 'Late').click()

  const tree = panel(page).locator('.json')
  await tree
    .locator('.changed', { hasText: 'timestamp' })
    .locator('.was', { hasText: '09:30:00.000Z' })
    .waitFor()
  await tree.locator('.added', { hasText: 'receivedAt' }).waitFor()
  await panel(page).locator('.facts', { hasText: 'clock was' }).waitFor()
  await page.keyboard.press('Escape')
  await page.locator('.separator', { hasText: 'Today' }).waitFor()
})

test('a duplicate is harmless and links to the first event; a conflict shows the differences', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A', messageId: 'same', properties: { total: 1 } }))
  await post(collector, '/v1/track', track({ event: 'A', messageId: 'same', properties: { total: 1 } }))
  await post(collector, '/v1/track', track({ event: 'A', messageId: 'same', properties: { total: 2 } }))
  const page = await openPage(collector)

  await row(page, 'duplicate').locator('.pill.info').waitFor()
  await row(page, 'conflict').locator('.pill:is(.bad, .warn)').waitFor()
  await row(page, 'conflict').click()
  const total = panel(page).locator('.json .changed', { hasText: 'total' }).last()
  await total.locator('.was', { hasText: 'was 1' }).waitFor()
  await panel(page).getByRole('link', { name: 'The first event with this messageId' }).click()
  await panel(page).locator('h3', { hasText: 'The same messageId came again' }).waitFor()
})

test('an opened event shows its destinations with every attempt, and why others were skipped', async () => {
  const destinations = [
    { name: 'Lines', type: 'file' as const, path: outFile() },
    { name: 'Warehouse', type: 'file' as const, path: outFile() },
  ]
  const collector = await openCollector({ config: { destinations } })
  const page = await openPage(collector)

  await post(collector, '/v1/track', track({ event: 'Sent', integrations: { Warehouse: false } }))
  await row(page, 'Sent').locator('.deliveries', { hasText: '1 of 1' }).waitFor()
  await row(page, 'Sent').click()
  const list = panel(page).locator('.deliveries-list')
  await list
    .locator('li', { hasText: 'Warehouse' })
    .filter({ hasText: 'turned off by integrations' })
    .waitFor()
  await list.locator('li', { hasText: 'Lines' }).locator('summary', { hasText: '1 attempt' }).click()
  await list.locator('.attempts', { hasText: 'delivered' }).waitFor()
})

test('the search line filters the list, including later events', async () => {
  const { collector, page } = await openWithMix()

  await search(page, 'type:page')
  await shows(page, 'B')
  await page.getByRole('button', { name: 'Remove Kind: page' }).click()
  await search(page, 'KETTLE')
  await shows(page, 'A')
  await post(collector, '/v1/batch', {
    batch: [track({ event: 'D' }), track({ event: 'E', properties: { sku: 'kettle-10' } })],
  })
  await shows(page, 'E', 'A')
  await search(page, '"nothing like it"')
  await page.getByRole('link', { name: 'Show all events' }).click()
  await shows(page, 'E', 'D', 'C c', 'without a name', 'B', 'A')
})

test('a click on a value adds a filter by it, which can be negated and removed', async () => {
  const { page } = await openWithMix()

  await row(page, 'C c').locator('.source').hover()
  await row(page, 'C c').getByTitle('Only source:mobile').click()
  await shows(page, 'C c')
  await page.getByRole('button', { name: 'Source: mobile', exact: true }).click()
  await page.getByRole('button', { name: 'Hide these instead' }).click()
  await shows(page, 'without a name', 'B', 'A')
  await page.locator('.chip.not').locator('.chip-remove').click()
  await expect.poll(() => names(page)).toHaveLength(4)

  await row(page, 'C c').click()
  await panel(page).locator('.json').getByRole('button', { name: 'total:' }).click()
  await page.getByRole('button', { name: 'Only events with this value' }).click()
  await shows(page, 'C c')
  expect(new URL(page.url()).hash).toContain('properties.total%3A50')
})

test('the address contains the filter and the opened event, and the back button undoes each step', async () => {
  const { page } = await openWithMix()

  await search(page, 'name:"C c"')
  await shows(page, 'C c')
  await row(page, 'C c').click()
  await panel(page).locator('.json').waitFor()
  const address = page.url()
  await page.goBack()
  await expect.poll(() => panel(page).count()).toBe(0)
  await shows(page, 'C c')
  await page.goBack()
  await expect.poll(() => names(page)).toHaveLength(4)
  expect(await page.locator('.chip').count()).toBe(0)

  // In another window, the address alone leads to the same view.
  await page.goto('about:blank')
  await page.goto(address)
  await panel(page).locator('.json', { hasText: 'C c' }).waitFor()
  await page.locator('.chip', { hasText: 'name:"C c"' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await expect.poll(() => panel(page).count()).toBe(0)
  await shows(page, 'C c')
})

test('on a phone, the opened event covers the list, and the back button returns to the list', async () => {
  const { collector } = await openWithMix()
  const page = await openPage(collector, { viewport: { width: 390, height: 780 }, hasTouch: true })
  await row(page, 'C c').tap()
  await page.locator('.drawer .json').waitFor()
  await page.goBack()
  await expect.poll(() => panel(page).count()).toBe(0)
  expect(await names(page)).toHaveLength(4)
  expect(page.url()).toContain('#/events')
})

test('the filtered list can be downloaded', async () => {
  const { page } = await openWithMix()
  await search(page, 'type:page')
  await shows(page, 'B')
  await page.getByRole('button', { name: 'Export' }).click()
  const waiting = page.waitForEvent('download')
  await page.getByRole('link', { name: 'This list as NDJSON' }).click()
  const file = await (await waiting).createReadStream()
  let text = ''
  for await (const chunk of file) text += chunk
  const lines = text.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).name)).toEqual(['B'])
})

test('an invalid search shows its error and position beside the line, and the rows stay', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A' }))
  const page = await openPage(collector, { expected: /400/ })
  await shows(page, 'A')

  await search(page, 'x'.repeat(1001))
  await search(page, '(a')
  await page.locator('.search .problem').waitFor()
  expect(await page.locator('#connection').textContent()).toBe('live')
  // The rows that are still shown are marked as belonging to an older search.
  expect(await page.locator('.list').getAttribute('aria-busy')).toBe('true')
  await page.getByRole('button', { name: 'Clear filter' }).click()
  await expect.poll(() => page.locator('.search .problem').count()).toBe(0)
  expect(await page.locator('.list').getAttribute('aria-busy')).toBe('false')
  await shows(page, 'A')

  await page.goto('about:blank')
  await page.goto(`${collector.url}/#/events?q=(a`)
  await page.locator('.screen-state', { hasText: 'Nothing could be loaded' }).waitFor()
})

test('deleting everything asks for confirmation, and says what it deletes', async () => {
  const { collector, page } = await openWithMix()

  await page.getByRole('button', { name: 'More' }).click()
  await page.locator('#clear').click()
  const dialog = page.getByRole('dialog', { name: 'Delete all events?' })
  expect(await dialog.textContent()).toContain('messageIds for deduplication')
  await page.keyboard.press('Escape')
  expect(collector.count()).toBe(4)
  await page.getByRole('button', { name: 'More' }).click()
  await page.locator('#clear').click()
  await dialog.getByRole('button', { name: 'Delete everything' }).click()
  await page.locator('.first-steps').waitFor()
  expect(collector.count()).toBe(0)
})

test('events can be selected and opened with the keyboard, even while an event is open', async () => {
  const { page } = await openWithMix()
  const active = () => page.evaluate(() => document.activeElement?.className ?? '')

  await page.keyboard.press('/')
  expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('search')
  await page.locator('.list').focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.locator('.row[aria-selected=true]', { hasText: 'nameless' }).waitFor()
  await page.keyboard.press('Enter')
  await panel(page).locator('.facts', { hasText: 'nameless' }).waitFor()
  expect(await active()).toContain('list')
  await page.keyboard.press('ArrowDown')
  await panel(page).locator('h2', { hasText: 'B' }).waitFor()
  expect(await page.locator('.list').getAttribute('aria-activedescendant')).toMatch(/^row-/)
  await page.keyboard.press('Escape')
  await expect.poll(() => panel(page).count()).toBe(0)
  expect(await active()).toContain('list')
})

test('the message can be folded, searched and copied, with and without the clipboard API', async () => {
  const collector = await openCollector()
  const properties = {
    basket: { items: [{ sku: 'kettle-9' }, { sku: 'pot-3' }] },
    cups: Array.from({ length: 105 }, (_, index) => `cup-${index}`),
    note: `${'x'.repeat(4991)}, the end`,
  }
  await post(collector, '/v1/track', track({ event: 'A', properties }))
  const page = await openPage(collector, { permissions: ['clipboard-read', 'clipboard-write'] })
  await row(page, 'A').click()
  const tree = panel(page).locator('.json')
  await tree.getByText('kettle-9').waitFor()
  await tree.getByText('4,600 more characters').waitFor()
  await tree.getByRole('button', { name: 'Fold basket' }).click()
  await expect.poll(() => tree.textContent()).not.toContain('kettle-9')
  // The search opens what holds its text, also what was folded by hand, beyond the first items of a list, or in a long text.
  const field = panel(page).getByLabel('Search in the message')
  await field.fill('POT-3')
  await tree.locator('li:not(.no-hit)', { hasText: 'pot-3' }).first().waitFor()
  expect(await tree.textContent()).not.toContain('kettle-9')
  await field.fill('cup-104')
  await tree.getByText('cup-104').waitFor()
  await field.fill('the end')
  await tree.getByText('xx, the end').waitFor()
  await field.fill('"sku"')
  await tree.getByText('No key or value contains').waitFor()
  await field.fill('')

  const copied = () => page.evaluate(() => navigator.clipboard.readText())
  await panel(page).getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByRole('button', { name: 'As JSON' }).click()
  await page.locator('.notice', { hasText: 'JSON copied' }).waitFor()
  expect(JSON.parse(await copied())).toMatchObject({ event: 'A', properties })
  // A page that comes over plain HTTP from another machine has no clipboard API.
  await page.evaluate(() => Object.defineProperty(navigator.clipboard, 'writeText', { value: undefined }))
  await panel(page).getByRole('button', { name: 'Copy', exact: true }).click()
  await page.getByRole('button', { name: 'As a curl command' }).click()
  await page.locator('.notice', { hasText: 'curl command copied' }).waitFor()
  expect(await copied()).toContain('-u "$TRACKPOST_WRITE_KEY:"')
})

test('an event can be delivered again', async () => {
  const collector = await openCollector({
    config: { destinations: [{ name: 'Lines', type: 'file', path: outFile() }] },
  })
  await post(collector, '/v1/track', track({ event: 'Again' }))
  const page = await openPage(collector)
  await row(page, 'Again').click()
  await panel(page).locator('.deliveries-list', { hasText: 'delivered' }).waitFor()
  await panel(page).getByRole('button', { name: 'Deliver again' }).click()
  await page.getByRole('button', { name: 'To all destinations' }).click()
  await page.locator('.notice', { hasText: 'Delivered again to Lines' }).waitFor()
  await panel(page).locator('.deliveries-list summary', { hasText: '2 attempts' }).waitFor()
})

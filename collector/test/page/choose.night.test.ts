import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { basic, openCollector, post, track } from '../support.ts'
import { names, openPage, panel, row, search, shows } from './support.ts'

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
  await page.getByLabel('Choose C', { exact: true }).click()
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

  await page.getByRole('button', { name: 'Actions' }).click()
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

test('one choice of the status shows what did not arrive: not accepted, or given up by a destination', async () => {
  const hook = { name: 'Hook', type: 'webhook' as const, url: 'http://127.0.0.1:9/', maxAttempts: 1 }
  const collector = await openCollector({
    config: {
      sources: [
        { name: 'app', writeKey: 'app' },
        { name: 'shop', writeKey: 'shop', destinations: [] },
      ],
      destinations: [hook],
    },
  })
  const app = { authorization: basic('app') }
  await post(collector, '/v1/track', track({ event: 'Given up' }), app)
  await post(collector, '/v1/track', track({ event: 'Arrived', messageId: 'once' }))
  await post(collector, '/v1/track', track({ event: 'Arrived', messageId: 'once' }))
  await post(collector, '/v1/track', track({ event: '' }))
  const page = await openPage(collector)
  await page.locator('.deliveries .pill.bad').waitFor()

  await page.getByRole('button', { name: 'Status', exact: true }).click()
  await page.getByRole('button', { name: 'did not arrive' }).click()
  await shows(page, 'without a name', 'Given up')
  await page.getByRole('button', { name: 'Remove Status: did not arrive' }).click()
  await expect.poll(() => names(page)).toHaveLength(4)
})

test('an active fault is seen on every screen, and can be limited to one source and removed', async () => {
  const { collector, page } = await openWithFour()
  await page.goto(`${collector.url}/#/faults`)
  await page.getByLabel('Source').selectOption('shop')
  await page.getByRole('button', { name: 'Set Outage', exact: true }).click()
  await page.locator('.rules .rule', { hasText: 'from shop' }).waitFor()

  await page.goto(`${collector.url}/#/users`)
  await page.getByText('1 fault is active').waitFor()
  const other = await post(collector, '/v1/track', track(), { authorization: basic('mobile') })
  const shop = await post(collector, '/v1/track', track())
  expect([other.status, shop.status]).toEqual([200, 503])
  await page.locator('.fault-line').getByRole('button', { name: 'Remove' }).click()

  await expect.poll(() => page.locator('.fault-line').count()).toBe(0)
  expect(collector.faults().rules).toEqual([])
})

test('users have names, are found by an e-mail address, and the first one is open', async () => {
  const collector = await openCollector()
  const traits = { name: 'Ada Lindqvist', email: 'ada@northwind.example' }
  await post(collector, '/v1/identify', { userId: 'u-1', traits })
  await post(
    collector,
    '/v1/track',
    track({ userId: 'u-2', event: 'Imported', timestamp: '2020-02-02T10:00:00Z' }),
  )
  const page = await openPage(collector, { at: 'users' })

  await panel(page).locator('h2', { hasText: 'u-2' }).waitFor()
  // The timeline is in the order of the events themselves.
  await panel(page).locator('.day-row', { hasText: '2020' }).waitFor()
  await page.getByLabel('Search users').fill('northwind')
  await page.keyboard.press('Enter')

  await panel(page).locator('h2', { hasText: 'Ada Lindqvist' }).waitFor()
  expect(await page.locator('.user-rows tbody tr').allTextContents()).toEqual([
    expect.stringContaining('Ada Lindqvistada@northwind.example'),
  ])
})

test('the list can show when events happened instead of when they were received', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'Imported', timestamp: '2020-02-02T10:00:00Z' }))
  const page = await openPage(collector)
  await page.locator('.separator', { hasText: 'Today' }).waitFor()

  await page.getByRole('button', { name: 'Received' }).click()

  await page.locator('.separator', { hasText: '2 February 2020' }).waitFor()
  await page.getByRole('button', { name: 'Happened' }).waitFor()
})

test('at a high rate, the list stands still after the first second, and counts what is new', {
  retry: 3,
}, async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'First' }))
  const page = await openPage(collector)
  await row(page, 'First').waitFor()
  let isSending = true
  const sending = (async () => {
    while (isSending) {
      const batch = Array.from({ length: 20 }, () => track({ event: 'Flood' }))
      await post(collector, '/v1/batch', { batch })
    }
  })()

  const button = page.locator('.new-events')
  await button.waitFor()
  const before = await page.locator('.list .row').first().getAttribute('id')
  const waiting = await button.textContent()
  await expect.poll(() => button.textContent()).not.toBe(waiting)
  expect(await page.locator('.list .row').first().getAttribute('id')).toBe(before)
  isSending = false
  await sending

  // After the flood, the list shows what has arrived.
  await expect.poll(() => button.count()).toBe(0)
  expect(await page.locator('.list .row').first().getAttribute('id')).not.toBe(before)
})

import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { openPage, panel, row } from './support.ts'

useBrowser()

test('a warning shows its meaning, its remedy, and a link to all events with it', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'Local', timestamp: '2026-05-17T11:59:00' }))
  await post(collector, '/v1/track', track({ event: 'Never', timestamp: 'yesterday' }))
  const page = await openPage(collector)

  await row(page, 'Local').getByTitle('names no time zone').waitFor()
  await row(page, 'Local').click()
  const warning = panel(page).locator('.explanation.warning')
  expect(await warning.textContent()).toContain('it was read as UTC')
  expect(await warning.textContent()).toContain('Add the time zone')
  await warning.getByRole('link', { name: 'All events with this warning' }).click()
  await page.getByRole('button', { name: 'Status: no time zone', exact: true }).waitFor()
  await expect.poll(() => page.locator('.list .row').count()).toBe(1)

  await page.goto(`${collector.url}/#/events?q=reason:no_event,bad_type`)
  await page.getByRole('button', { name: 'Status: no event name, bad type', exact: true }).waitFor()
})

test('what is gone cannot be tried again', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track())
  const page = await openPage(collector, { at: 'events?open=99', expected: /404/ })

  await panel(page).locator('.problem', { hasText: 'no event of this id' }).waitFor()
  expect(await panel(page).getByRole('button', { name: 'Try again' }).count()).toBe(0)
})

test('a search that finds nothing offers the help by a button, as a phone has no keys', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track())
  const page = await openPage(collector, { at: 'events?q=nowhere', viewport: { width: 390, height: 844 } })

  await page.getByRole('button', { name: 'What else a search can say' }).click()
  await page.getByRole('dialog', { name: 'Keyboard and search' }).waitFor()
})

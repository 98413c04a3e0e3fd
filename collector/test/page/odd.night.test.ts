import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { basic, openCollector, post, track } from '../support.ts'
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

test('on every screen, the number beside Problems leaves out harmless problems', async () => {
  const collector = await openCollector()
  const refused = await post(collector, '/v1/track', '{"broken"')
  expect(refused.status).toBe(400)
  await post(collector, '/v1/track', { type: 'track', userId: 'u' })
  const twice = track({ messageId: 'twice' })
  await post(collector, '/v1/track', twice)
  await post(collector, '/v1/track', twice)
  const page = await openPage(collector, { at: 'users' })

  const badge = page.locator('nav a', { hasText: 'Problems' }).locator('.pill')
  await expect.poll(() => badge.textContent()).toBe('2')
  await page.goto(`${collector.url}/#/problems`)
  await expect.poll(() => page.locator('.problem-card').count()).toBe(3)
  // A problem that needs no action, such as a duplicate, is harmless.
  const section = (name: string) => page.locator('section.block', { hasText: name })
  expect(await section('Lost').locator('.problem-card').count()).toBe(2)
  expect(await section('Lost').locator('.block-head p').textContent()).toMatch(/^2 kinds: /)
  expect(await badge.textContent()).toBe('2')
})

test('an unknown address shows an error', async () => {
  const collector = await openCollector()
  const page = await openPage(collector, { at: 'nonsense' })

  await page.getByRole('heading', { name: 'No such screen' }).waitFor()
  expect(await page.title()).toContain('No such screen')
  expect(await page.locator('nav [aria-current]').count()).toBe(0)
  await page.getByRole('main').getByRole('link', { name: 'Events' }).click()
  await page.locator('.first-steps').waitFor()
})

test('an event name of spaces is shown as blank in the list, in the panel and in the catalogue', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: '  ' }))
  const page = await openPage(collector)

  await page.locator('.row .title', { hasText: 'blank' }).click()
  await panel(page).locator('h2', { hasText: 'blank' }).waitFor()
  await page.goto(`${collector.url}/#/catalogue`)
  await page.locator('.entries th a', { hasText: 'blank' }).click()
  await panel(page).locator('h2', { hasText: 'blank' }).waitFor()
})

test('a long source name does not make its row in the catalogue higher', async () => {
  const collector = await openCollector()
  const source = 'a-source-of-a-name-that-nobody-would-type-'.repeat(4)
  await post(collector, '/v1/track', track({ event: 'Long' }), { authorization: basic(source) })
  await post(collector, '/v1/track', track({ event: 'Short' }))
  const page = await openPage(collector, { at: 'catalogue' })

  const height = async (name: string) =>
    (await page.locator('.entries tr', { hasText: name }).boundingBox())?.height
  await page.locator('.entries tr', { hasText: 'Long' }).waitFor()
  expect(await height('Long')).toBeLessThan(2 * ((await height('Short')) ?? 0))
  expect(await page.locator('.entries [title]', { hasText: 'a-source' }).getAttribute('title')).toBe(source)
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

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseConfig } from '../../src/config/load.ts'
import { useBrowser } from '../browser.ts'
import { basic, openCollector, post, track } from '../support.ts'
import { figure, openPage, panel, row, search, shows } from './support.ts'

useBrowser()

const outFile = () => join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'out.ndjson')

test('the overview shows how far events got, and links each loss to its events', async () => {
  const collector = await openCollector({
    config: {
      destinations: [
        { name: 'Lines', type: 'file', path: outFile() },
        { name: 'Broken', type: 'webhook', url: 'http://127.0.0.1:9/', maxAttempts: 1 },
      ],
    },
  })
  await post(collector, '/v1/batch', {
    batch: [
      track({ event: 'A' }),
      track({ event: 'B', integrations: { Lines: false } }),
      { type: 'track', userId: 'u' },
    ],
  })
  await post(collector, '/v1/track', '{"broken"')
  const page = await openPage(collector, { at: 'overview' })

  await figure(page, 'Accepted').getByRole('link', { name: '2' }).waitFor()
  // Lost events are red, and nothing else is.
  await figure(page, 'Given up').locator('.bad-text', { hasText: '2' }).waitFor()
  await figure(page, 'Not accepted').locator('.bad-text').waitFor()
  expect(await figure(page, 'Delivered').locator('.bad-text').count()).toBe(0)
  await page.locator('.losses', { hasText: 'Not sent to Lines: turned off by integrations' }).waitFor()
  await page.locator('.losses', { hasText: 'Broken did not take them' }).waitFor()
  const refused = figure(page, 'Refused requests').getByRole('link', { name: '1' })
  expect(decodeURIComponent((await refused.getAttribute('href')) ?? '')).toMatch(/q=status>=400(&|$)/)
  expect(await page.locator('.volume .bar[href]').count()).toBeGreaterThan(0)
  await page
    .locator('.losses')
    .getByRole('link', { name: /no_event/ })
    .click()
  await page.getByRole('button', { name: 'Status: no event name', exact: true }).waitFor()
  await row(page, 'no event name').waitFor()
  expect(await page.locator('.list .row').count()).toBe(1)
})

test('the time range of the overview can be chosen, and is kept in the address', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track())
  const page = await openPage(collector, { at: 'overview' })
  await page.getByRole('link', { name: '24 hours' }).click()
  expect(page.url()).toContain('since=-24h')
  await figure(page, 'Received').getByRole('link', { name: '1' }).waitFor()
  await page.goBack()
  await expect.poll(() => page.url()).not.toContain('since')
  // The data is younger than an hour, so the range without a choice is all of it.
  expect(await page.locator('[aria-current=true]').textContent()).toBe('all')
})

test('every request is listed, and a refused one shows its error and the position', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/batch', { batch: [track({ event: 'A' }), track({ event: 'B' })] })
  await post(collector, '/v1/track', '{"userId":"Zoë"\n "event":"A"}')
  await post(collector, '/v1/bathc', {})
  const page = await openPage(collector, { at: 'requests' })

  await row(page, '/v1/bathc').locator('.pill', { hasText: '404' }).waitFor()
  await row(page, 'invalid JSON').click()
  await panel(page).locator('.explanation', { hasText: 'invalid_json' }).waitFor()
  expect(await panel(page).locator('pre mark').textContent()).toBe('"')
  expect(await panel(page).locator('pre:has(mark)').textContent()).toContain('"userId":"Zoë"')
  await page.keyboard.press('Escape')
  await search(page, 'status:200')
  await row(page, '/v1/batch').click()
  await panel(page).locator('.event-rows .row', { hasText: 'B' }).waitFor()
  await panel(page).getByRole('link', { name: 'Show in the list' }).click()
  await page.locator('.chip', { hasText: 'request:' }).waitFor()
  await row(page, 'A').first().waitFor()
})

test('the result of a request is in words, and a success is no badge', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/batch', { batch: [track({ event: 'A' }), track({ event: '' })] })
  const page = await openPage(collector, { at: 'requests' })
  await row(page, '2 events').waitFor()
  // A new request appears as it arrives.
  await post(collector, '/v1/batch', '{')

  const half = row(page, '2 events, 1 not accepted')
  expect(await half.locator('.http').textContent()).toBe('200')
  expect(await half.locator('.bad-text').textContent()).toBe('1 not accepted')
  expect(await half.locator('.pill').count()).toBe(0)
  expect(await row(page, '400').locator('.count').textContent()).toBe('invalid JSON')
})

test('a user has one timeline before and after signing in, and a history of traits', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'Looked', userId: undefined, anonymousId: 'anon-1' }))
  await post(collector, '/v1/identify', {
    userId: 'ada',
    anonymousId: 'anon-1',
    traits: { plan: 'free', email: 'ada@example.com' },
  })
  await post(collector, '/v1/identify', { userId: 'ada', traits: { plan: 'pro' } })
  await post(collector, '/v1/track', track({ event: 'Bought', userId: 'ada' }))
  const page = await openPage(collector, { at: 'users' })
  await page.locator('.user-rows th', { hasText: 'ada' }).click()

  const timeline = page.locator('.person .event-rows')
  await timeline.locator('.row', { hasText: 'Looked' }).waitFor()
  await timeline.locator('.row', { hasText: 'Bought' }).waitFor()
  await page.locator('.person', { hasText: 'anon-1 became ada' }).waitFor()
  const history = page.locator('.trait-history')
  await history.locator('del', { hasText: 'free' }).waitFor()
  await history.locator('ins', { hasText: 'pro' }).waitFor()
})

test('the catalogue links what breaks the plan, and counts only accepted events that are not in it, as `check` does', async () => {
  const collector = await openCollector({
    plan: { additionalEvents: false, track: { Bought: { required: ['total'] }, Refunded: {} } },
  })
  await post(collector, '/v1/track', track({ event: 'Bought', properties: {} }))
  await post(collector, '/v1/track', track({ event: 'Opened', messageId: 'same' }))
  await post(collector, '/v1/track', track({ event: 'Opened', messageId: 'same' }))
  await post(collector, '/v1/track', track({ event: 'Refused', userId: undefined }))
  const page = await openPage(collector, { at: 'catalogue' })

  await page.getByText('3 events break it, 1 not in the plan, 1 not seen yet (Refunded)').waitFor()
  // A harmless repeat is not lost.
  const lost = (event: string) => page.locator('.entries tr', { hasText: event }).locator('.bad-text')
  expect(await lost('Refused').textContent()).toBe('1')
  expect(await lost('Opened').textContent()).toBe('')
  await page.getByRole('link', { name: '3 events break it' }).click()
  await shows(page, 'Opened', 'Opened', 'Bought')
})

test('the catalogue shows types with their share, marks inconsistent ones, and can be exported', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/batch', {
    batch: [
      track({ event: 'Order Completed', properties: { total: 1, currency: 'EUR' } }),
      track({ event: 'Order Completed', properties: { total: 2 } }),
      track({ event: 'Order Completed', properties: { total: '3.00' } }),
      track({ event: 'Looked' }),
    ],
  })
  const page = await openPage(collector, { at: 'catalogue' })
  await page
    .locator('.entries tr', { hasText: 'Order Completed' })
    .locator('.pill', { hasText: '1 inconsistent' })
    .waitFor()
  await page.getByRole('link', { name: /Order Completed/ }).click()
  const total = panel(page).locator('.fields tr.inconsistent', { hasText: 'total' })
  await total.getByRole('link', { name: /67%/ }).waitFor()
  await panel(page).getByText('Of 3 accepted events').waitFor()
  await total.getByRole('link', { name: 'string 33%' }).click()
  await panel(page).locator('.json', { hasText: '3.00' }).waitFor()

  await page.goBack()
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await panel(page).getByRole('button', { name: 'Copy JSON Schema' }).click()
  await page.locator('.notice', { hasText: 'JSON Schema copied' }).waitFor()
  const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))
  expect(copied.properties.total.type).toEqual(['integer', 'string'])
  await page.getByRole('button', { name: 'Export' }).click()
  const waiting = page.waitForEvent('download')
  await page.getByRole('link', { name: 'As a tracking plan (JSON Schema)' }).click()
  let text = ''
  for await (const chunk of await (await waiting).createReadStream()) text += chunk
  expect(JSON.parse(text)).toMatchObject({ track: { 'Order Completed': {} } })
})

test('problems are counted and explained, and harmless ones are marked', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', { userId: 'u' })
  await post(collector, '/v1/track', track({ event: 'A', messageId: 'same' }))
  await post(collector, '/v1/track', track({ event: 'A', messageId: 'same' }))
  await post(collector, '/v1/track', 'no JSON', { authorization: basic('web') })
  const page = await openPage(collector, { at: 'problems' })
  const group = (title: string) => page.locator('.block', { has: page.locator('h3', { hasText: title }) })
  await group('Lost').locator('.problem-card', { hasText: 'no_event' }).waitFor()
  await group('Lost').locator('.problem-card', { hasText: 'invalid_json' }).waitFor()
  await group('Harmless').locator('.problem-card', { hasText: 'duplicate' }).waitFor()
  await page.getByRole('link', { name: 'An example' }).last().click()
  await panel(page).locator('.explanation.info').waitFor()
})

test('without destinations, the screen shows a config that the collector takes', async () => {
  const page = await openPage(await openCollector(), { at: 'destinations' })

  const example = await page.locator('pre.code').textContent()
  expect(parseConfig(JSON.parse(example ?? ''), 'the page').destinations).toHaveLength(2)
})

test('destinations show pending and failed deliveries, and can try them again', async () => {
  const collector = await openCollector({
    config: {
      destinations: [{ name: 'Broken', type: 'webhook', url: 'http://127.0.0.1:9/', maxAttempts: 1 }],
    },
  })
  await post(collector, '/v1/track', track({ event: 'Lost' }))
  const page = await openPage(collector, { at: 'destinations' })
  await page.locator('.figures dt', { hasText: 'Rate' }).first().waitFor()
  await page.locator('.failures li', { hasText: 'Lost' }).waitFor()
  await page.locator('.destination', { hasText: 'everything given up' }).waitFor()
  await page.getByRole('button', { name: 'Try again', exact: true }).click()
  await page.locator('.notice', { hasText: '1 delivery tried again' }).waitFor()
})

test('faults can be set and removed with a click, and affect the next request', async () => {
  const collector = await openCollector()
  const page = await openPage(collector, { at: 'faults' })
  await page.getByRole('button', { name: 'Set Server error' }).click()
  await page.locator('.rules .rule', { hasText: 'status 503' }).waitFor()
  // An equal fault is no second row.
  await page.getByRole('button', { name: 'Set Server error' }).click()
  await page.locator('.rules .rule', { hasText: '2 of 2 left' }).waitFor()
  expect(await page.locator('.rules .rule').count()).toBe(1)
  expect((await post(collector, '/v1/track', track())).status).toBe(503)
  expect((await post(collector, '/v1/track', track())).status).toBe(503)
  expect((await post(collector, '/v1/track', track())).status).toBe(200)
  await expect.poll(() => page.locator('.rules .rule').count()).toBe(0)

  await page.getByRole('button', { name: 'Set Rate limit' }).click()
  await page.locator('.rules .rule', { hasText: 'Retry-After: 2' }).waitFor()
  await page.getByRole('button', { name: 'Remove all faults' }).click()
  await expect.poll(() => page.locator('.rules .rule').count()).toBe(0)
  expect((await post(collector, '/v1/track', track())).status).toBe(200)
  await page.getByRole('button', { name: 'Set At random' }).click()
  await page.locator('.rules .rule', { hasText: '10% of the time' }).waitFor()
})

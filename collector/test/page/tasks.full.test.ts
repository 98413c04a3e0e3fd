import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { useBrowser } from '../browser.ts'
import { BAD_RELEASE, visitShop } from '../changes/deploy.ts'
import { basic, openCollector, post, track } from '../support.ts'
import { figure, openPage, panel, row } from './support.ts'

useBrowser()

const MOST_CLICKS = 3

/** A shop after a bad release: events of three sources, some refused, one repeated, some given up by a destination. */
async function openShop(): Promise<Collector> {
  const crm = { name: 'CRM', type: 'webhook' as const, url: 'http://127.0.0.1:9/', maxAttempts: 1 }
  const collector = await openCollector({
    config: {
      sources: [
        { name: 'shop', writeKey: 'shop', destinations: [] },
        { name: 'billing', writeKey: 'billing' },
      ],
      destinations: [crm],
    },
  })
  await visitShop(collector)
  await post(collector, '/api/deploys', { name: '1.4.2' })
  await visitShop(collector, BAD_RELEASE)
  const billing = { authorization: basic('billing') }
  await post(collector, '/v1/track', track({ event: 'Invoice Sent', messageId: 'once' }), billing)
  await post(collector, '/v1/track', track({ event: 'Invoice Sent', messageId: 'once' }), billing)
  await post(collector, '/v1/batch', { batch: [track({ event: '', userId: 'ada' }), track({ event: '' })] })
  return collector
}

/** Opens the first screen, and counts the clicks from then on. */
async function start(collector: Collector): Promise<{ page: Page; clicks(): Promise<number> }> {
  const page = await openPage(collector, { at: 'events' })
  await row(page, 'no event name').first().waitFor()
  await page.evaluate(() => {
    addEventListener(
      'click',
      () => (document.documentElement.dataset['clicks'] = String(clicked() + 1)),
      true,
    )
    const clicked = () => Number(document.documentElement.dataset['clicks'] ?? 0)
  })
  return { page, clicks: () => page.evaluate(() => Number(document.documentElement.dataset['clicks'] ?? 0)) }
}

const menu = (page: Page, name: string) => page.getByRole('navigation').getByRole('link', { name }).click()
const state = (page: Page, hasText: string) => page.locator('.screen-state', { hasText }).waitFor()

type Task = readonly [question: string, answer: (page: Page) => Promise<unknown>]

const TASKS: readonly Task[] = [
  [
    'why did this order not arrive?',
    async (page) => {
      await page.getByRole('button', { name: 'Status', exact: true }).click()
      await page.getByRole('button', { name: 'did not arrive' }).click()
      await row(page, 'no event name').first().click()
      await panel(page).getByText('Name the action').waitFor()
    },
  ],
  [
    'what did my deploy change?',
    async (page) => {
      await menu(page, 'Changes')
      await page.getByText('it looks renamed').waitFor()
    },
  ],
  [
    'fail for 30 s',
    async (page) => {
      await menu(page, 'Faults')
      await page.getByRole('button', { name: 'Set Outage for 30 s' }).click()
      await page.getByText('1 fault is active').waitFor()
    },
  ],
  [
    'compare two events',
    async (page) => {
      await page.getByLabel('Choose Order Completed').first().click()
      await page.getByLabel('Choose Added to Cart').first().click()
      await page.getByRole('button', { name: 'Compare' }).click()
      await panel(page).locator('.json .changed').first().waitFor()
    },
  ],
  [
    'who is this user?',
    async (page) => {
      await row(page, 'user-web-39').first().click()
      await panel(page).locator('.facts').getByRole('link', { name: 'user-web-39' }).click()
      await page.locator('.person').getByText('9 events').waitFor()
    },
  ],
  [
    'send this request again',
    async (page) => {
      await menu(page, 'Requests')
      await row(page, '2 not accepted').click()
      await panel(page).getByRole('button', { name: 'Send again' }).click()
      await page.getByText('Sent again: the answer is 200').waitFor()
    },
  ],
  [
    'which properties does an order have?',
    async (page) => {
      await menu(page, 'Catalogue')
      await page.getByRole('link', { name: /Order Completed/ }).click()
      await panel(page).getByRole('button', { name: 'Copy JSON Schema' }).waitFor()
      await panel(page).getByRole('link', { name: 'Show 240 events' }).click()
      await state(page, 'the newest 200 events')
    },
  ],
  [
    'what is lost, and where?',
    async (page) => {
      await menu(page, 'Problems')
      await page.getByRole('link', { name: '2 events' }).click()
      await state(page, '2 events')
    },
  ],
  [
    'how many are not accepted? A repeat is none of them',
    async (page) => {
      await menu(page, 'Overview')
      await figure(page, 'Not accepted').getByText('and 1 repeat, which is harmless').waitFor()
      await figure(page, 'Not accepted').getByRole('link', { name: '2' }).click()
      await state(page, '2 events')
    },
  ],
  [
    'what did the CRM give up?',
    async (page) => {
      await menu(page, 'Destinations')
      await figure(page, 'Given up').getByRole('link', { name: '1' }).click()
      await state(page, '1 event')
      await row(page, 'Invoice Sent').waitFor()
    },
  ],
]

test.each(TASKS)(`${MOST_CLICKS} clicks: %s`, async (_question, answer) => {
  const collector = await openShop()
  await expect.poll(async () => (await destinationOf(collector)).failed).toBe(1)
  const { page, clicks } = await start(collector)
  await answer(page)
  expect(await clicks()).toBeLessThanOrEqual(MOST_CLICKS)
  expect(await clicks()).toBeGreaterThan(0)
})

async function destinationOf(collector: Collector): Promise<{ failed: number }> {
  const { destinations } = await (await fetch(`${collector.url}/api/destinations`)).json()
  return destinations[0]
}

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { browser } from '../browser.ts'
import { basic, openCollector, post, track } from '../support.ts'

export const artefacts = fileURLToPath(new URL('../../test-results/', import.meta.url))
mkdirSync(artefacts, { recursive: true })

export interface PageOptions extends BrowserContextOptions {
  /** The first screen, such as `events?q=user:ada`. */
  at?: string
  /** Messages of the console that the test expects, such as a refused request. */
  expected?: RegExp
}

/** Opens the web page of a collector. An error in the console, or a request to another server, fails the test. */
export async function openPage(collector: Pick<Collector, 'url'>, options: PageOptions = {}): Promise<Page> {
  const { at = 'events', expected, ...context } = options
  const own = await browser().newContext({
    viewport: { width: 1360, height: 800 },
    locale: 'en-GB',
    ...context,
  })
  const page = await own.newPage()
  // Shorter than the limit of a test, so that the error names the missing element.
  page.setDefaultTimeout(60_000)
  const problems: string[] = []
  const note = (text: string) => {
    if (expected?.test(text) !== true) problems.push(text)
  }
  page.on('pageerror', (error) => note(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error') note(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(collector.url)) problems.push(`asked for ${request.url()}`)
  })
  onTestFinished(async () => {
    await own.close()
    expect(problems).toEqual([])
  })
  await page.goto(`${collector.url}/#/${at}`)
  await page.locator('#connection.live').waitFor()
  return page
}

export const names = (page: Page) => page.locator('.list .row .title').allTextContents()

export const shows = (page: Page, ...expected: string[]) => expect.poll(() => names(page)).toEqual(expected)

export const row = (page: Page, hasText: string) => page.locator('.list .row', { hasText })

/** The open panel, beside or over the list. */
export const panel = (page: Page) => page.locator('.panel, .drawer')

/** The figure with exactly this title. */
export const figure = (page: Page, title: string) =>
  page.locator('.figures > div', { has: page.getByText(title, { exact: true }) })

export async function search(page: Page, line: string): Promise<void> {
  await page.fill('main input[name=search]', line)
  await page.keyboard.press('Enter')
}

export const screenshot = (page: Page, name: string) =>
  page.screenshot({ path: join(artefacts, `${name}.png`) })

/** A collector with four events, one of them without a name and one of another source, and its page. */
export async function openWithMix(at = 'events'): Promise<{ collector: Collector; page: Page }> {
  const collector = await openCollector()
  await post(collector, '/v1/batch', {
    batch: [
      track({ event: 'A', properties: { sku: 'kettle-9', total: 5 } }),
      { type: 'page', userId: 'u', name: 'B' },
      { type: 'track', userId: 'nameless' },
    ],
  })
  await post(collector, '/v1/track', track({ event: 'C c', properties: { total: 50 } }), {
    authorization: basic('mobile'),
  })
  const page = await openPage(collector, { at })
  if (at === 'events') await page.locator('.list .row').nth(3).waitFor()
  return { collector, page }
}

/** A collector with 150 events. */
export async function openWithMany(): Promise<Collector> {
  const collector = await openCollector()
  const batch = Array.from({ length: 150 }, (_, index) => track({ event: `Event ${index}` }))
  await post(collector, '/v1/batch', { batch })
  return collector
}

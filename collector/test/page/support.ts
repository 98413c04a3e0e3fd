import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { BROWSER_ARGS } from '../browser-args.ts'

const CHROMIUM = '/usr/bin/chromium'
/** Where pictures of the page are put, to be looked at. */
export const artefacts = fileURLToPath(new URL('../../test-results/', import.meta.url))

let running: Browser | undefined

/** Starts one browser for the tests of a file. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (!existsSync(CHROMIUM)) {
      throw new Error(`${CHROMIUM} is missing; run collector/scripts/ensure-chromium.sh`)
    }
    mkdirSync(artefacts, { recursive: true })
    running = await chromium.launch({ executablePath: CHROMIUM, args: BROWSER_ARGS })
  }, 60_000)
  afterAll(() => running?.close())
}

/** The browser that `useBrowser` started. */
export function browser(): Browser {
  if (running === undefined) throw new Error('useBrowser() is missing')
  return running
}

export interface PageOptions extends BrowserContextOptions {
  /** Where on the page to begin, such as `events?q=user:ada`. */
  at?: string
  /** Problems in the console that belong to the test, such as a refused request. */
  expected?: RegExp
}

/** Opens the page; an error in it, or a request to anywhere else, fails the test. */
export async function openPage(collector: Pick<Collector, 'url'>, options: PageOptions = {}): Promise<Page> {
  const { at = 'events', expected, ...context } = options
  const own = await browser().newContext({
    viewport: { width: 1360, height: 800 },
    locale: 'en-GB',
    ...context,
  })
  const page = await own.newPage()
  // Less than a test may take, so that it can say what it waited for.
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

/** The names of the rows in sight, as a reader sees them. */
export const names = (page: Page) => page.locator('.list .row .title').allTextContents()

/** Waits until the rows in sight have these names. */
export const shows = (page: Page, ...expected: string[]) =>
  expect.poll(() => names(page), { timeout: 10_000 }).toEqual(expected)

export const row = (page: Page, hasText: string) => page.locator('.list .row', { hasText })

/** What was opened beside or over the list. */
export const panel = (page: Page) => page.locator('.panel, .drawer')

/** Types a search and takes it as it stands. */
export async function search(page: Page, line: string): Promise<void> {
  await page.fill('main input[name=search]', line)
  await page.keyboard.press('Enter')
}

export const screenshot = (page: Page, name: string) =>
  page.screenshot({ path: join(artefacts, `${name}.png`) })

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import type { Collector } from '../../src/index.ts'
import { browser, useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { openPage, panel, row, screenshot, search } from './support.ts'

useBrowser()

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** A collector with the events of a small shop, some of them invalid. */
async function openWithDemo(): Promise<Collector> {
  const path = join(mkdtempSync(join(tmpdir(), 'trackpost-collector-')), 'out.ndjson')
  const collector = await openCollector({
    config: {
      destinations: [
        { name: 'Warehouse', type: 'file', path },
        { name: 'CRM', type: 'webhook', url: 'http://127.0.0.1:9/', firstDelay: 60_000 },
      ],
    },
  })
  const script = fileURLToPath(new URL('../../scripts/demo-events.js', import.meta.url))
  await promisify(execFile)(process.execPath, [script, collector.url, '300'])
  await post(collector, '/v1/track', '{"broken": "json"')
  return collector
}

async function openEventId(collector: Collector): Promise<string> {
  const { events } = (await (
    await fetch(`${collector.url}/api/events?event=Order+Completed&status=accepted&order=newest&limit=1`)
  ).json()) as { events: Array<{ id: string }> }
  return events[0]?.id ?? ''
}

/** Each screen, and an element that shows that its data has arrived. */
const SCREENS = (eventId: string): Array<[name: string, at: string, ready: string]> => [
  ['overview', 'overview', '.volume'],
  ['events', 'events', '.list .row'],
  ['event', `events?open=${eventId}`, ':is(.panel, .drawer) .json'],
  ['requests', 'requests', '.list .row'],
  ['request', 'requests?q=status%3E%3D400', '.list .row'],
  ['users', 'users', '.entries'],
  ['user', 'users?id=anna-7', '.person .event-rows'],
  ['catalogue', 'catalogue', '.entries'],
  ['entry', 'catalogue?key=track%3AOrder%20Completed', '.fields'],
  ['changes', 'changes', '.nothing'],
  ['problems', 'problems', '.problem-card'],
  ['destinations', 'destinations', '.figures'],
  ['faults', 'faults', '.presets'],
  ['nowhere', 'nowhere', '.nothing'],
]

const VIEWS: Array<[name: string, options: BrowserContextOptions]> = [
  ['320-light', { viewport: { width: 320, height: 720 }, colorScheme: 'light', hasTouch: true }],
  ['390-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true }],
  ['768-light', { viewport: { width: 768, height: 1024 }, colorScheme: 'light' }],
  ['1280-light', { viewport: { width: 1280, height: 820 }, colorScheme: 'light' }],
  ['1280-forced', { viewport: { width: 1280, height: 820 }, forcedColors: 'active' }],
  ['2560-dark', { viewport: { width: 2560, height: 1300 }, colorScheme: 'dark' }],
]

interface Axe {
  run(options: object): Promise<{
    violations: Array<{ id: string; nodes: Array<{ html: string; failureSummary: string }> }>
  }>
}

/** Runs axe in the page. Returns only the violations, because its whole result takes megabytes. */
function findings(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: Axe }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 2).map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    )
  })
}

test.each(VIEWS)(
  '%s: no screen overflows, and axe finds no violation',
  async (view, options) => {
    const collector = await openWithDemo()
    const page = await openPage(collector, { at: 'overview', bypassCSP: true, ...options })
    await page.evaluate(axe)
    for (const [name, at, ready] of SCREENS(await openEventId(collector))) {
      await page.goto(`${collector.url}/#/${at}`)
      await page.locator(ready).first().waitFor()
      await page.waitForFunction(() => document.querySelector('main .stale') === null)
      await screenshot(page, `${name}-${view}`)
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
      expect({ name, overflow }).toEqual({ name, overflow: 0 })
      // The result of axe depends only on the colours and on whether an event is shown beside or over the list.
      if (/^(320|390|1280)/.test(view)) {
        expect({ name, findings: await findings(page) }).toEqual({ name, findings: [] })
      }
    }
  },
  240_000,
)

test.each([
  ['390-dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' as const }],
  ['1440-light', { viewport: { width: 1440, height: 900 }, colorScheme: 'light' as const }],
])(
  '%s: the login form (also after a wrong token) and the access-disabled page do not overflow and pass axe',
  async (view, options) => {
    const host = '::ffff:127.0.0.1'
    const asking = await openCollector({ host, allowPublic: true, adminToken: 'correct-horse' })
    const closed = await openCollector({ host, allowPublic: true })
    const own = await browser().newContext(options)
    onTestFinished(() => own.close())
    const page = await own.newPage()

    await page.goto(`http://127.0.0.1:${asking.port}/`)
    await page.getByLabel('Admin token').waitFor()
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe('token')
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('This is not the token.').waitFor()
    await isInOrder(page, `login-${view}`)
    await page.goto(`http://127.0.0.1:${closed.port}/`)
    await page.getByText('--admin-token').waitFor()
    expect(await page.getByLabel('Admin token').count()).toBe(0)
    await isInOrder(page, `closed-${view}`)
  },
)

test('stale data during an outage, and a value of only white space, pass axe', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: '  ' }))
  const page = await openPage(collector, { expected: /503/, bypassCSP: true })
  await row(page, 'blank').click()
  await panel(page).locator('.json').waitFor()
  const unavailable = { success: false, code: 'storage', message: 'the store is unavailable' }
  await page.route('**/api/events?*', (route) => route.fulfill({ status: 503, json: unavailable }))
  await search(page, 'type:track')
  await page.locator('.list.stale').waitFor()
  await page.waitForFunction(() => document.getAnimations().length === 0)

  await page.evaluate(axe)
  expect(await findings(page)).toEqual([])
})

async function isInOrder(page: Page, name: string): Promise<void> {
  await page.evaluate(axe)
  await screenshot(page, name)
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)
  expect({ name, overflow, findings: await findings(page) }).toEqual({ name, overflow: 0, findings: [] })
}

test('an opened event does not cut off the status of the rows at any width', async () => {
  const collector = await openWithDemo()
  const page = await openPage(collector, { at: `events?open=${await openEventId(collector)}` })
  for (const width of [320, 820, 999, 1000, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 })
    // The layout for the previous width stays for a moment.
    await page.locator(width < 1000 ? '.drawer .json' : '.panel .json').waitFor()
    const cut = await page.evaluate(() => {
      const isOver = document.querySelector('.drawer') !== null
      const edge = document.querySelector('.list')?.clientWidth ?? 0
      const left = document.querySelector('.list')?.getBoundingClientRect().left ?? 0
      const pills = [...document.querySelectorAll('.list .row .status .pill:first-child')]
      if (!isOver && edge < 300) return [`the list is only ${edge} pixels wide`]
      return isOver
        ? []
        : pills
            .filter((pill) => {
              const box = pill.getBoundingClientRect()
              const cell = pill.parentElement?.getBoundingClientRect()
              return box.right > left + edge || (cell !== undefined && box.right > cell.right + 1)
            })
            .map((pill) => pill.textContent)
    })
    expect({ width, cut }).toEqual({ width, cut: [] })
  }
})

test('the page is small, its typefaces come with their licence, and its scripts are its own', async () => {
  const collector = await openCollector()
  const fonts = ['/geist-latin-wght-normal.woff2', '/geist-mono-latin-400-normal.woff2']
  let bytes = 0
  for (const path of ['/', '/page.js', '/page.css', '/icon.svg', ...fonts]) {
    const response = await fetch(`${collector.url}${path}`)
    bytes += gzipSync(Buffer.from(await response.arrayBuffer()), { level: 9 }).length
    expect([path, response.status]).toEqual([path, 200])
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self';")
    expect(response.headers.get('content-security-policy')).not.toContain('unsafe')
  }
  expect(bytes).toBeLessThanOrEqual(120_000)
  const licenses = readFileSync(new URL('../../dist/page/LICENSES-FONTS.md', import.meta.url), 'utf8')
  expect(licenses.match(/SIL OPEN FONT LICENSE Version 1.1/g)).toHaveLength(fonts.length)
})

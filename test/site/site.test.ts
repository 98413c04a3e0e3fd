import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBrowser } from '../../collector/scripts/find-browser.mjs'
import { BROWSER_ARGS } from '../../collector/test/browser-args.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const SITE = join(REPOSITORY, 'docs/.vitepress/dist')
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}

const executablePath = findBrowser()
/** Without a Chromium, these tests are skipped and counted as skipped. */
const browserTest = executablePath === undefined ? test.skip : test

let build: { code: number; output: string }
let server: Server
let origin: string
let browser: Browser | undefined

beforeAll(async () => {
  build = await new Promise((resolve) => {
    const args = [join(REPOSITORY, 'scripts/build-docs.mjs')]
    execFile(process.execPath, args, { maxBuffer: 16_777_216 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : 1, output: stdout + stderr }),
    )
  })
  server = createServer((request, response) => {
    const path = new URL(request.url ?? '/', 'http://site').pathname
    for (const file of [path, `${path}.html`, `${path}index.html`]) {
      try {
        const body = readFileSync(join(SITE, file))
        return response.writeHead(200, { 'Content-Type': TYPES[extname(file)] ?? 'font/woff2' }).end(body)
      } catch {
        // The next one.
      }
    }
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: BROWSER_ARGS })
})
afterAll(async () => {
  await browser?.close()
  server?.close()
})

test('the site builds without a warning, a link that leads nowhere or an export without a docstring', () => {
  expect(build.output).toContain('links')
  expect(build.code, build.output).toBe(0)
})

/** Opens a page of the site; whatever it writes to its console fails the test. */
async function open(path: string, run: (page: Page) => Promise<void>, width = 1_280): Promise<void> {
  const page = await (browser as Browser).newPage({ viewport: { width, height: 800 } })
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => {
    // The next page was opened before one that is fetched ahead of time had come.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') complaints.push(request.url())
  })
  try {
    await page.goto(origin + path, { waitUntil: 'networkidle' })
    await run(page)
    expect(complaints).toEqual([])
  } finally {
    await page.close()
  }
}

describe('in a browser', () => {
  browserTest.each([
    ['Retry-After', 'delivery', 'What is retried'],
    ['createTestClient', 'testing', 'A client for tests'],
    ['maxQueueBytes', 'settings', 'Settings'],
  ])('the search finds %s in the guide %s, and leads there', async (words, guide, heading) => {
    await open('/', async (page) => {
      await page.locator('#local-search button').click()
      await page.locator('#localsearch-input').fill(words)
      const result = page.locator(`.results a[href^="/${guide}"]`).first()
      await result.waitFor()
      await result.click()

      await page.waitForURL(`**/${guide}*`)
      expect(await page.locator('.vp-doc').textContent()).toContain(heading)
    })
  })

  browserTest('the search finds exported names in the reference', async () => {
    await open('/', async (page) => {
      await page.locator('#local-search button').click()
      await page.locator('#localsearch-input').fill('FlushSummary')

      await page.locator('.results a[href^="/api/"]').first().waitFor()
    })
  })

  browserTest('no page is wider than a phone', async () => {
    const pages = ['', ...sidebarLinks().map((link) => link.slice(1)), 'api/index/classes/Analytics']
    const tooWide: string[] = []
    const look = async (page: Page): Promise<void> => {
      for (const name of pages) {
        await page.goto(`${origin}/${name}`, { waitUntil: 'load' })
        const width = await page.evaluate(() => document.documentElement.scrollWidth)
        if (width > 360) tooWide.push(`${name}: ${width} px`)
      }
    }

    await open('/', look, 360)

    expect(pages.length).toBeGreaterThan(15)
    expect(tooWide).toEqual([])
  })

  browserTest('the drawing of an event is there, and says in words what it shows', async () => {
    await open('/delivery', async (page) => {
      const drawing = page.locator('.vp-doc img').first()

      expect(await drawing.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(0)
      expect(await drawing.getAttribute('alt')).toContain('queue')
    })
  })
})

function sidebarLinks(): string[] {
  const sidebar = JSON.parse(readFileSync(join(REPOSITORY, 'docs/.vitepress/pages/sidebar.json'), 'utf8'))
  return sidebar['/'].flatMap(({ items }: { items: { link: string }[] }) => items.map(({ link }) => link))
}

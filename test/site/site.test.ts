import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { extname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findBrowser } from '../../collector/scripts/find-browser.mjs'
import { BROWSER_ARGS } from '../../collector/test/browser-args.ts'
import { search } from '../../docs/.vitepress/search.mjs'
import { QUESTIONS } from './questions.ts'

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url))
const SITE = join(REPOSITORY, 'docs/.vitepress/dist')
const TYPES: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}

const axe = readFileSync(
  createRequire(join(REPOSITORY, 'collector/package.json')).resolve('axe-core/axe.min.js'),
  'utf8',
)

const executablePath = findBrowser()
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
        // Tries the next file.
      }
    }
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  if (executablePath !== undefined) browser = await chromium.launch({ executablePath, args: BROWSER_ARGS })
  // The build takes a minute, or several minutes if the machine is busy.
}, 1_200_000)
afterAll(async () => {
  await browser?.close()
  server?.close()
})

test('the site builds without warnings, broken links and undocumented exports', () => {
  expect(build.code, build.output).toBe(0)
})

describe('the search', () => {
  let find: (question: string) => string[]

  beforeAll(async () => {
    // The search engine of VitePress, with the index from the built site.
    const MiniSearch = createRequire(import.meta.resolve('vitepress'))('minisearch')
    const chunks = join(SITE, 'assets/chunks')
    const name = readdirSync(chunks).find((one) => one.startsWith('@localSearchIndexroot'))
    const { default: json } = await import(pathToFileURL(join(chunks, name ?? '')).href)
    const { options, searchOptions } = search.options.miniSearch
    const fields = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'] }
    const index = MiniSearch.loadJSON(json, { ...fields, searchOptions, ...options })
    find = (question) =>
      index.search(question).map(({ id }: { id: string }) => id.split('#')[0]?.replace(/\.html$/, '') ?? '')
  })

  test('finds the right page first for 50 of 60 questions', () => {
    const missed = QUESTIONS.filter(([question, page]) => find(question)[0] !== page)

    expect(QUESTIONS).toHaveLength(60)
    expect(missed.length, JSON.stringify(missed)).toBeLessThanOrEqual(10)
  })

  test.each([
    ['maxRetries default', '/settings'],
    ['queue_full', '/errors'],
    ['import csv', '/command-line'],
    ['helm', '/not-offered'],
  ])('finds for %s the page %s first', (question, page) => {
    expect(find(question)[0]).toBe(page)
  })
})

/** The test fails if the page writes an error to its console. */
async function open(path: string, run: (page: Page) => Promise<void>, width = 1_280): Promise<void> {
  const page = await (browser as Browser).newPage({ viewport: { width, height: 800 } })
  const complaints: string[] = []
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('requestfailed', (request) => {
    // The site prefetches pages. A prefetch is aborted when another page is opened before it has ended.
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

/** One line for each violation that axe finds. */
function violations(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> }
    }
    const result = await axe.run({ resultTypes: ['violations'] })
    return result.violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`),
    )
  })
}

describe('in a browser', () => {
  browserTest('the search finds a code in its guide, and opens it', async () => {
    await open('/', async (page) => {
      await page.locator('#local-search button').click()
      await page.locator('#localsearch-input').fill('queue_full')
      await page.locator('.results a[href^="/errors"]').first().click()

      await page.waitForURL('**/errors*')
      // The address changes before the content.
      await page.locator('main').getByRole('heading', { name: 'Errors and what to do' }).first().waitFor()
    })
  })

  browserTest('the search finds exported names in the reference', async () => {
    await open('/', async (page) => {
      await page.locator('#local-search button').click()
      await page.locator('#localsearch-input').fill('FlushSummary')

      await page.locator('.results a[href^="/api/"]').first().waitFor()
    })
  })

  browserTest('no page is wider than the screen of a phone (360 px)', async () => {
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

  browserTest.each([
    ['light', 1_440],
    ['dark', 390],
  ] as const)('axe finds no violation in the %s at %i px', async (colorScheme, width) => {
    const found: string[] = []
    const look = async (page: Page): Promise<void> => {
      await page.emulateMedia({ colorScheme })
      for (const name of ['', 'five-minutes', 'collector', 'command-line', 'platforms', 'api/']) {
        await page.goto(`${origin}/${name}`, { waitUntil: 'networkidle' })
        await page.evaluate(axe)
        found.push(...(await violations(page)).map((one) => `/${name}: ${one}`))
      }
    }

    await open('/', look, width)

    expect(found).toEqual([])
  })
})

test('llms.txt links to the Markdown of each guide, which exists', () => {
  const text = readFileSync(join(SITE, 'llms.txt'), 'utf8')
  const paths = [
    ...text.matchAll(/\]\(https:\/\/raw\.githubusercontent\.com\/trackpost\/trackpost\/main\/(.*)\)/g),
  ]

  expect(text).toMatch(/^# trackpost\n\n> .+\n\n## /)
  expect(paths.length).toBeGreaterThan(25)
  for (const [, path = ''] of paths) expect(readFileSync(join(REPOSITORY, path), 'utf8')).toMatch(/^# /m)
})

test('the sidebar for users has no pages for contributors, and none of the cluster', () => {
  const { '/': users } = JSON.parse(
    readFileSync(join(REPOSITORY, 'docs/.vitepress/pages/sidebar.json'), 'utf8'),
  )
  const links = users.flatMap(({ items }: { items: { link: string }[] }) => items.map(({ link }) => link))

  expect(links).toContain('/settings')
  expect(links.filter((link: string) => /spec|contributing|cluster/.test(link))).toEqual([])
})

function sidebarLinks(): string[] {
  const sidebar = JSON.parse(readFileSync(join(REPOSITORY, 'docs/.vitepress/pages/sidebar.json'), 'utf8'))
  const groups: { items: { link: string }[] }[] = [
    ...sidebar['/'],
    ...sidebar['/cluster'],
    ...sidebar['/spec'],
  ]
  return groups.flatMap(({ items }) => items.map(({ link }) => link))
}

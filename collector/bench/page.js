/**
 * The page in Chromium: under a load of 1,000 events a second, and with a store of 1,000,000 events.
 *
 * Usage: node bench/page.js [--seconds 60] [--events 1000000] [--database path]
 *
 * Prints two tables. Takes some four minutes; nothing else should run on the machine. --database keeps the large store, or uses
 * one that this script made before.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { findBrowser } from '../scripts/find-browser.mjs'
import { startCollectorProcess } from './collector-process.js'
import { sendLoad } from './load.js'
import { postShop } from './shop.js'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    events: { type: 'string', default: '1000000' },
    database: { type: 'string' },
  },
})
const seconds = Number(values.seconds)
const events = Number(values.events)
const ROUNDS = 3
const CLICKS_UNDER_LOAD = 6

const folder = mkdtempSync(join(tmpdir(), 'trackpost-bench-'))
const config = join(folder, 'config.json')
const file = join(folder, 'out.ndjson')
writeFileSync(config, JSON.stringify({ destinations: [{ name: 'Warehouse', type: 'file', path: file }] }))
const browser = await chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox'] })
const [loadBefore = 0] = loadavg()

async function open(url, at) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
  page.setDefaultTimeout(20_000)
  await page.goto(`${url}#/${at}`)
  await page.locator('#connection.live').waitFor()
  return page
}

/**
 * The tasks of over 50 ms while `act` runs. On a busy machine a task also waits for its turn, so those that took 50 ms of CPU
 * time are counted beside those that lasted so long.
 */
async function longTasks(page, act) {
  await page.evaluate(() => {
    window.longTasks = []
    const watch = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) window.longTasks.push(duration)
    })
    watch.observe({ entryTypes: ['longtask'] })
  })
  await browser.startTracing(page, { categories: ['toplevel', '__metadata'] })
  await act()
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString())
  const lasted = await page.evaluate(() => window.longTasks)
  const mains = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain',
  )
  const worked = traceEvents
    .filter(
      ({ name, pid, tid }) =>
        name === 'ThreadControllerImpl::RunTask' && mains.some((one) => one.pid === pid && one.tid === tid),
    )
    .map(({ tdur = 0 }) => tdur / 1000)
    .filter((ms) => ms > 50)
  const most = (list) => Math.max(0, ...list).toFixed(0)
  return `${lasted.length} (longest ${most(lasted)} ms); in CPU time ${worked.length} (longest ${most(worked)} ms)`
}

async function heapMb(client) {
  await client.send('HeapProfiler.collectGarbage')
  const { usedSize } = await client.send('Runtime.getHeapUsage')
  return usedSize / 1e6
}

const rowAt = (page, index) => page.locator('.list .row .title').nth(index)

async function underLoad() {
  const collector = await startCollectorProcess({ args: ['--config', config] })
  await postShop(collector.url, 2000)
  const page = await open(collector.url, 'events')
  await rowAt(page, 0).waitFor()
  const client = await page.context().newCDPSession(page)
  const atRest = await longTasks(page, () => page.waitForTimeout((seconds * 1000) / 4))
  const load = (duration) =>
    sendLoad(collector.url, { rate: 1000, batch: 10, connections: 4, seconds: duration })
  let sent
  const watching = await longTasks(page, async () => {
    sent = await load(seconds)
  })
  const clicking = load(CLICKS_UNDER_LOAD * 5)
  const heaps = []
  const opened = []
  for (let row = 0; row < CLICKS_UNDER_LOAD; row++) {
    await page.waitForTimeout(3500)
    opened.push(await timed(page, () => rowAt(page, row).click(), isOpen))
    await page.keyboard.press('Escape')
    heaps.push(await heapMb(client))
  }
  await clicking
  print(`1,000 events a second for ${seconds} s, with the list of events open`, [
    ['events sent, failed', `${sent.sent}, ${sent.failed}`],
    [`tasks over 50 ms in ${seconds / 4} s without load`, atRest],
    [`tasks over 50 ms in ${seconds} s with load`, watching],
    ['then a row opened every 4 s, to its details', opened.map((ms) => `${ms.toFixed(0)} ms`).join(', ')],
    ['JavaScript heap after each, collected', heaps.map((heap) => `${heap.toFixed(1)} MB`).join(', ')],
  ])
  await page.close()
  await collector.stop()
}

/** Whether the details are those of the selected row. */
const isOpen = () => {
  const title = document.querySelector('.list .row[aria-selected=true] .title')?.textContent
  return (
    document.querySelector('.panel .json') !== null &&
    document.querySelector('.panel h2').textContent.endsWith(title)
  )
}

/** Whether the timeline is that of the current row. */
const isTimeline = () =>
  document.querySelector('.person .event-rows') !== null &&
  document.querySelector('.panel h2').textContent ===
    document.querySelector('.user-rows .current a').textContent

/** Milliseconds from `act` to the first frame in which `isThere` holds, as the page itself measures them. */
async function timed(page, act, isThere, argument) {
  await page.evaluate(
    ([test, of]) => {
      const holds = new Function('of', `return (${test})(of)`)
      window.took = new Promise((resolve) => {
        const start = ({ timeStamp }) => {
          const look = () => {
            const tookMs = performance.now() - timeStamp
            if (holds(of) || tookMs > 5000)
              requestAnimationFrame(() => resolve(performance.now() - timeStamp))
            else requestAnimationFrame(look)
          }
          look()
        }
        for (const kind of ['pointerdown', 'keydown'])
          addEventListener(kind, start, { capture: true, once: true })
      })
    },
    [String(isThere), argument],
  )
  await act()
  return page.evaluate(() => window.took)
}

function print(title, lines) {
  console.log(`\n${title}`)
  const width = Math.max(...lines.map(([what]) => what.length))
  for (const [what, figure] of lines) console.log(`  ${what.padEnd(width)}  ${figure}`)
}

/** Whether there are such elements, each with this text. */
const everyHas = ([selector, text]) => {
  const found = [...document.querySelectorAll(selector)]
  return found.length > 0 && found.every(({ textContent }) => textContent.includes(text))
}
const isThere = (selector) => [everyHas, [selector, '']]
const isAnswered = (part) =>
  performance
    .getEntriesByType('resource')
    .some(({ name, responseEnd }) => name.includes(part) && responseEnd > 0)

const screen = (name) => async (page) => () =>
  page.locator('nav[aria-label=Screens] a', { hasText: name }).click()
const entry = (page) => page.locator('.entries tbody tr').nth(3).click()
const choose = (menu, option) => async (page) => {
  await page.getByRole('button', { name: menu, exact: true }).click()
  return () => page.locator('.option', { hasText: option }).first().click()
}
const type = (text) => async (page) => {
  const box = page.locator('main input[name=search]')
  await box.fill(text)
  return () => box.press('Enter')
}
const toEnd = async (page) => {
  await page.locator('.list').focus()
  return () => page.keyboard.press('End')
}

/** The screen, what is clicked there (a function that is returned is the click itself), and what shows the content. */
const CLICKS = [
  ['open an event', 'events', async (page) => () => rowAt(page, 3).click(), isOpen],
  [
    'the next page of events',
    'events',
    toEnd,
    () => Number(document.querySelector('.list').ariaRowCount) > 250,
  ],
  ['filter by kind', 'events', choose('Kind', 'identify'), everyHas, ['.list .row .kind', 'identify']],
  [
    'filter by status',
    'events',
    choose('Status', 'not accepted'),
    everyHas,
    ['.list .row .status', 'no event name'],
  ],
  [
    'filter by source',
    'events',
    choose('Source', 'mobile-app'),
    everyHas,
    ['.list .row .source', 'mobile-app'],
  ],
  ['filter by time', 'events', choose('Time', 'Last 24 hours'), isAnswered, 'from=-24h'],
  ['search a user', 'events', type('user:user-77'), everyHas, ['.list .row .user', 'user-77']],
  ['search a rare word: first answer', 'events', type('order-4712'), isAnswered, 'q=order-4712'],
  ['search a rare word: found', 'events', type('order-4711'), everyHas, ['.list .row .name', 'order-4711']],
  ['search a word that is nowhere', 'events', type('nowhere'), everyHas, ['.pane', 'No event matches']],
  ['Requests', 'events', screen('Requests'), ...isThere('.screen-requests .list .row')],
  [
    'open a request',
    'requests',
    async (page) => () => page.locator('.list .row').nth(3).click(),
    ...isThere('.panel .facts'),
  ],
  ['Users', 'events', screen('Users'), ...isThere('.person .event-rows')],
  ['search users', 'users', type('user-4711'), everyHas, ['.user-rows tbody tr', 'user-4711']],
  ['the timeline of a user', 'users', async (page) => () => entry(page), isTimeline],
  ['Catalogue', 'events', screen('Catalogue'), ...isThere('.entries tbody tr')],
  ['open an event name', 'catalogue', async (page) => () => entry(page), ...isThere('.panel .fields')],
  ['Overview', 'events', screen('Overview'), ...isThere('.volume')],
  ['Problems', 'events', screen('Problems'), ...isThere('.problem-card')],
  ['Destinations', 'events', screen('Destinations'), ...isThere('.figures')],
  ['Faults', 'events', screen('Faults'), ...isThere('.presets')],
]

/** Makes the large store, and waits until its destination has all events. */
async function fill(database) {
  const collector = await startCollectorProcess({ database, args: ['--config', config] })
  await postShop(collector.url, events)
  for (let waiting = 1; waiting > 0; ) {
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const { destinations } = await (await fetch(new URL('/api/destinations', collector.url))).json()
    waiting = destinations[0].pending
  }
  await collector.stop()
}

async function onLargeStore() {
  const database = values.database ?? join(folder, 'large.db')
  if (!existsSync(database)) await fill(database)
  const collector = await startCollectorProcess({ database, args: ['--config', config] })
  const lines = []
  for (const [what, at, click, isDone, argument] of CLICKS) {
    const took = []
    const pageMs = []
    const collectorMs = []
    for (let round = 0; round < ROUNDS; round++) {
      const page = await open(collector.url, at)
      await page.waitForFunction(
        () =>
          document.querySelector('main :is(.row, .entries td, .volume)') !== null &&
          document.querySelector('main .loading') === null,
      )
      await page.waitForTimeout(300)
      const act = await click(page)
      const client = await page.context().newCDPSession(page)
      await client.send('Performance.enable', { timeDomain: 'threadTicks' })
      const cpuMs = async () => {
        const { metrics } = await client.send('Performance.getMetrics')
        const page = metrics.find(({ name }) => name === 'TaskDuration').value
        return { page: 1000 * page, collector: 1000 * collector.processorSeconds() }
      }
      await page.evaluate(() => performance.clearResourceTimings())
      const before = await cpuMs()
      took.push(await timed(page, act, isDone, argument))
      const after = await cpuMs()
      pageMs.push(after.page - before.page)
      collectorMs.push(after.collector - before.collector)
      await page.close()
    }
    const least = (list) => `${Math.min(...list).toFixed(0)} ms`.padStart(8)
    lines.push([
      what,
      `${least(took)}, at most ${Math.max(...took).toFixed(0)} ms; CPU time: page ${least(pageMs)}, collector ${least(collectorMs)}`,
    ])
  }
  print(
    `Clicks with ${events.toLocaleString('en')} events, to the frame that shows the content, ${ROUNDS} times each`,
    lines,
  )
  await collector.stop()
}

try {
  if (seconds > 0) await underLoad()
  await onLargeStore()
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}
console.log(
  `\nThe load average before the run was ${loadBefore.toFixed(1)} on ${availableParallelism()} cores. Above 0.5, other processes affect the figures.`,
)

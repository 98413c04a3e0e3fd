import { renameSync } from 'node:fs'
import { connect } from '@nats-io/transport-node'
import { expect, onTestFinished, vi } from 'vitest'
import { newEvent } from '../../../collector/src/conformance/new-event.ts'
import { browser, useBrowser } from '../../../collector/test/browser.ts'
import { openPage, screenshot } from '../../../collector/test/page/support.ts'
import { newDatabaseFile } from '../../../collector/test/support/process.ts'
import { openCollector, post, track } from '../../../collector/test/support.ts'
import { encode } from '../../src/log/codec.ts'
import { startNats, natsTest as test } from '../support/nats.ts'

useBrowser()

async function openWorker() {
  const server = await startNats()
  const store = newDatabaseFile()
  const config = { log: { maxBytes: 50_000_000 } }
  const worker = await openCollector({ log: server.url, work: true, store, config })
  return { server, store, worker }
}

test('the overview shows dead letters, and can try them again', async () => {
  const { worker, server } = await openWorker()
  const hook = { destination: 'Hook' }
  const poison = newEvent('order-17', { deliveries: [hook, hook], name: 'Bestellung <b>"Größe L"</b>' })
  const connection = await connect({ servers: server.url })
  onTestFinished(() => connection.close())
  connection.publish('trackpost.events', encode([newEvent('a'), poison])[0]?.payload)
  connection.publish('trackpost.events', 'garbage')
  await expect.poll(() => worker.count()).toBe(1)

  const looks = [
    { name: 'log-light', viewport: { width: 1360, height: 900 }, colorScheme: 'light' as const },
    { name: 'log-dark', viewport: { width: 1360, height: 900 }, colorScheme: 'dark' as const },
    { name: 'log-phone', viewport: { width: 390, height: 844 }, colorScheme: 'light' as const },
  ]
  for (const { name, ...look } of looks) {
    const page = await openPage(worker, { at: 'overview', expected: /503/, ...look })
    const log = page.locator('.log-state')
    await expect.poll(() => log.locator('.failures li').count()).toBe(2)
    expect(await log.textContent()).toContain('Bestellung <b>"Größe L"</b>')
    expect(await log.textContent()).toContain('UNIQUE constraint failed')
    const { scrollWidth, clientWidth } = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement
      return { scrollWidth, clientWidth }
    })
    expect(scrollWidth).toBeLessThanOrEqual(clientWidth)
    // The first attempt can fail, since the page may be redrawing the block.
    await vi.waitFor(() => log.scrollIntoViewIfNeeded(), 10_000)
    await screenshot(page, name)
  }

  // A 503 is allowed: the log server is killed below, perhaps between two requests of the page.
  const page = await openPage(worker, { at: 'overview', expected: /503/ })
  const log = page.locator('.log-state')
  await log
    .locator('.failures li', { hasText: 'order-17' })
    .getByRole('button', { name: 'Try again' })
    .click()
  await page.locator('.notice', { hasText: '1 event tried again' }).waitFor()
  // The dead letter is refused again, and is back in the list: a retry loses nothing.
  await expect.poll(() => log.locator('.failures li', { hasText: 'order-17' }).count()).toBe(1)

  const garbage = log.locator('.failures li', { hasText: 'a message that cannot be read' })
  await garbage.getByRole('button', { name: 'Discard' }).click()
  expect(await garbage.count()).toBe(1)
  await garbage.getByRole('button', { name: 'Discard permanently' }).click()
  await page.locator('.notice', { hasText: 'Discarded' }).waitFor()
  await expect.poll(() => log.locator('.failures li').count()).toBe(1)

  await server.kill()
  await log.getByText('not ready').waitFor()
})

test('a long list of dead letters is folded, and its length is still shown when the log stops responding', async () => {
  const { worker } = await openWorker()
  await post(worker, '/v1/track', track())
  const letter = { at: new Date().toISOString(), reason: 'no', source: 'shop', messageId: 'm' }
  const letters = Array.from({ length: 20 }, (_, i) => ({ ...letter, id: `${i}`, name: `Order ${i}` }))
  const unreadable = { ...letter, id: '1', name: null, source: null, messageId: null }
  const deadLetters = [letters[0], unreadable, ...letters.slice(2)]
  let state: object = { isReady: true, reason: null, waiting: 0, oldestMs: null, deadLetters: 28 }
  const page = await openPage(worker, { at: 'events', expected: /503/ })
  await page.route('**/api/stats', (route) => route.fulfill({ json: { log: state } }))
  await page.route('**/api/dead-letters?*', (route) => route.fulfill({ json: { deadLetters } }))
  await page.goto(`${worker.url}/#/overview`)

  const block = page.locator('.log-state')
  await block.locator('summary', { hasText: 'The first 20 of 28 dead letters' }).click()
  expect(await block.locator('li').nth(1).textContent()).toContain('a message that cannot be read, ')
  expect(await block.locator('li').nth(2).textContent()).toContain('Order 2 of shop, m, ')

  await page.locator('.figures.sheet').first().waitFor()
  // The numbers of the log disappear, and its list stays. Only the numbers of the store are marked as out of date.
  state = { isReady: false, reason: 'the log is silent', waiting: null, oldestMs: null, deadLetters: null }
  const unavailable = { success: false, code: 'storage', message: 'the store is unavailable' }
  await page.route('**/api/overview*', (route) => route.fulfill({ status: 503, json: unavailable }))
  await post(worker, '/v1/track', track())
  await page.locator('.stale .figures.sheet').waitFor()
  expect(await page.locator('.stale .log-state').count()).toBe(0)
  await block.getByText('the log is silent').waitFor()
  await block.locator('summary', { hasText: 'The first 20 of 28 dead letters' }).waitFor()
})

test('a page whose store is unavailable is not shown as live', async () => {
  const { worker, store } = await openWorker()
  const page = await openPage(worker, { at: 'events', expected: /503/ })
  await page.locator('#connection.live').waitFor()

  // As if the disk of the store were removed.
  renameSync(store, `${store}.away`)

  await page.locator('#connection.unavailable', { hasText: 'store unavailable' }).waitFor()
  expect(await page.locator('#connection').getAttribute('title')).toContain('was removed or replaced')
  renameSync(`${store}.away`, store)
  await page.locator('#connection.live').waitFor()
})

test('a front without a store says where events are and shows the log, and asks for events only until it knows', async () => {
  const server = await startNats()
  const front = await openCollector({ log: server.url })
  const page = await browser().newPage()
  onTestFinished(() => page.close())
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).pathname))

  await page.goto(front.url)

  await page.getByRole('heading', { name: 'This process stores no events' }).waitFor()
  await page.locator('.log-state .pill', { hasText: 'ready' }).waitFor()
  expect(await page.locator('main').textContent()).toContain('Ask a process that has the store')
  await post(front, '/v1/track', track())
  await expect.poll(() => page.locator('.log-state dd').first().textContent()).toBe('1')
  // The list of events is the first screen.
  expect(asked.filter((path) => path.startsWith('/api/reasons') || path === '/api/events')).toEqual([
    '/api/events',
  ])
  await screenshot(page, 'no-store')
})

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { names, openPage, panel, row, search, shows } from './support.ts'

useBrowser()

const REFUSED = /ERR_CONNECTION_REFUSED|ERR_FAILED|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE|ERR_NETWORK|503/

test('a hidden tab closes its stream, and catches up when it is visible again', async () => {
  const collector = await openCollector()
  const page = await openPage(collector)
  const setVisible = (state: string) =>
    page.evaluate((value) => {
      Object.defineProperty(document, 'visibilityState', { value, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, state)
  let streams = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/api/stream')) streams++
  })
  const closed = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/stream'))
  await setVisible('hidden')
  await closed
  await post(collector, '/v1/track', track({ event: 'Unseen' }))
  await setVisible('visible')
  await row(page, 'Unseen').waitFor()
  expect(streams).toBe(1)
})

test('the page reconnects to a restarted collector', async () => {
  const first = await openCollector()
  const page = await openPage(first, { expected: REFUSED })

  await first.close()
  await page.locator('#connection.lost').waitFor()
  expect(await page.locator('#connection').textContent()).toContain('no connection')
  const line = page.locator('.connection-line')
  expect(await line.textContent()).toMatch(/^No connection to the collector\. Last update \d\d:\d\d\./)
  // The page also reloads the data that never changes while a collector runs.
  const isAskedAnew = page.waitForRequest((request) => request.url().endsWith('/api/reasons'))
  const second = await openCollector({ port: first.port })
  await isAskedAnew
  await post(second, '/v1/track', track({ event: 'After the restart' }))

  await row(page, 'After the restart').waitFor()
  await page.locator('#connection.live').waitFor()
  expect(await line.count()).toBe(0)
})

test('without a connection, the panel of an event and the search line show the error', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A' }))
  await post(collector, '/v1/track', track({ event: 'B' }))
  const page = await openPage(collector, { expected: REFUSED })
  await shows(page, 'B', 'A')
  await collector.close()
  await page.locator('#connection.lost').waitFor()

  await page.locator('.list .row').last().click()
  await panel(page).locator('.problem', { hasText: 'cannot be reached' }).waitFor()
  await page.getByRole('button', { name: 'Close' }).click()
  await search(page, 'zz')
  await page.locator('.search .problem', { hasText: 'cannot be reached' }).waitFor()
  // The list keeps its old rows, and marks them as old.
  expect(await names(page)).toEqual(['B', 'A'])
  expect(await page.locator('.list').getAttribute('aria-busy')).toBe('true')
})

test('a stopped collector with open connections is not shown as live', async () => {
  const script = fileURLToPath(new URL('../../bin/trackpost-collector.js', import.meta.url))
  const child = spawn(process.execPath, [script, '--port', '0', '--store', ':memory:'])
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let printed = ''
  for await (const chunk of child.stdout) {
    printed += chunk
    if (/http:\/\/\S+:\d+/.test(printed)) break
  }
  const url = /http:\/\/[\d.]+:\d+/.exec(printed)?.[0] ?? ''
  const page = await openPage({ url })
  child.kill('SIGSTOP')
  await page.locator('#connection.silent').waitFor({ timeout: 15_000 })
  expect(await page.locator('#connection').textContent()).toMatch(/no data for \d+ s/)
  child.kill('SIGCONT')
  await page.locator('#connection.live').waitFor()
})

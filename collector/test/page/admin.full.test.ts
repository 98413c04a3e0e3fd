import type { BrowserContext, Page } from 'playwright-core'
import { expect, onTestFinished, test } from 'vitest'
import { browser, useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { names } from './support.ts'

useBrowser()

const adminToken = 'correct-horse-battery'

async function openTab(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(url)
  return page
}

async function login(page: Page, token: string): Promise<void> {
  await page.getByLabel('Admin token').fill(token)
  await page.keyboard.press('Enter')
}

test('with an admin token, the page opens after the login, shows new events, and survives a restart', async () => {
  const started = { host: '::ffff:127.0.0.1', allowPublic: true, adminToken }
  const collector = await openCollector(started)
  const address = `http://127.0.0.1:${collector.port}`
  const context = await browser().newContext()
  onTestFinished(() => context.close())

  const page = await openTab(context, `${address}/#/events?q=user:ada`)
  await login(page, 'not the token')
  await page.getByRole('alert').getByText('This is not the token.').waitFor()
  expect(await context.cookies()).toEqual([])
  await login(page, adminToken)
  await page.locator('#connection.live').waitFor()
  // The login leads to the linked screen. Only the login with the wrong token counts as a refused request.
  expect(page.url()).toBe(`${address}/#/events?q=user:ada`)
  await page.locator('.chip', { hasText: 'user:ada' }).waitFor()
  expect(collector.stats().refused).toBe(1)
  expect(await page.evaluate('document.cookie')).toBe('')

  await collector.close()
  await page.locator('#connection:not(.live)').waitFor()
  await openCollector({ ...started, port: collector.port })
  await page.locator('#connection.live').waitFor()
  // The stream accepts the cookie too: new events appear without a reload.
  await page.goto(`${address}/#/events`)
  await post({ url: address }, '/v1/track', track({ event: 'After the restart' }))
  await expect.poll(() => names(page)).toEqual(['After the restart'])
})

test('a logout applies to all tabs, and a login in one of them opens the others', async () => {
  const collector = await openCollector({ adminToken })
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await openTab(context, `${collector.url}/#/problems`)
  await login(page, adminToken)
  await page.locator('#connection.live').waitFor()

  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Admin token').waitFor()
  expect(await context.cookies()).toEqual([])

  const other = await openTab(context, `${collector.url}/#/users`)
  await login(other, adminToken)
  await other.locator('#connection.live').waitFor()
  await page.bringToFront()
  await page.getByRole('heading', { name: 'Problems', exact: true }).waitFor()
})

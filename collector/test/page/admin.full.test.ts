import { expect, onTestFinished, test } from 'vitest'
import { browser, useBrowser } from '../browser.ts'
import { basic, openCollector, post, track } from '../support.ts'
import { names } from './support.ts'

useBrowser()

const adminToken = 'correct-horse-battery'

test('with an admin token, the page opens after the login, shows new events, and survives a restart', async () => {
  const started = { host: '::ffff:127.0.0.1', allowPublic: true, adminToken }
  let collector = await openCollector(started)
  const address = `http://127.0.0.1:${collector.port}`
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)

  await page.goto(`${address}/#/events?q=user:ada`)
  await page.getByLabel('Admin token').fill('not the token')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('This is not the token.').waitFor()
  expect(await context.cookies()).toEqual([])
  await page.getByLabel('Admin token').fill(adminToken)
  await page.keyboard.press('Enter')
  await page.locator('#connection.live').waitFor()
  // The login leads to the linked screen. Only the login with the wrong token counts as a refused request.
  expect(page.url()).toBe(`${address}/#/events?q=user:ada`)
  await page.locator('.chip', { hasText: 'user:ada' }).waitFor()
  expect(collector.stats().refused).toBe(1)

  expect(await page.evaluate('document.cookie')).toBe('')
  const [cookie, ...others] = await context.cookies()
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' })
  expect(others).toEqual([])
  expect(cookie?.value).not.toContain(adminToken)
  // The stream accepts the cookie too: new events appear without a reload.
  await page.goto(`${address}/#/events`)
  await post({ url: address }, '/v1/track', track({ event: 'After the login' }))
  await expect.poll(() => names(page)).toEqual(['After the login'])

  await collector.close()
  await page.locator('#connection:not(.live)').waitFor()
  collector = await openCollector({ ...started, port: Number(new URL(address).port) })
  await page.locator('#connection.live').waitFor()
  await fetch(`${address}/v1/track`, {
    method: 'POST',
    headers: { authorization: basic('shop'), 'content-type': 'application/json' },
    body: JSON.stringify(track({ event: 'After the restart' })),
  })
  await expect.poll(() => names(page)).toEqual(['After the restart'])
})

test('if the admin token was changed, an open page shows the login form again', async () => {
  const started = { host: '::ffff:127.0.0.1', allowPublic: true, adminToken }
  const collector = await openCollector(started)
  const address = `http://127.0.0.1:${collector.port}`
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${address}/`)
  await page.getByLabel('Admin token').fill(adminToken)
  await page.keyboard.press('Enter')
  await page.locator('#connection.live').waitFor()

  await collector.close()
  await openCollector({ ...started, port: collector.port, adminToken: 'another-token' })

  await page.getByLabel('Admin token').waitFor()
})

test('a logout applies to all tabs, and a login in one of them opens the others', async () => {
  const collector = await openCollector({ adminToken })
  const context = await browser().newContext()
  onTestFinished(() => context.close())
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${collector.url}/#/problems`)
  await page.getByLabel('Admin token').fill(adminToken)
  await page.keyboard.press('Enter')
  await page.locator('#connection.live').waitFor()

  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Admin token').waitFor()
  expect(await context.cookies()).toEqual([])

  const other = await context.newPage()
  await other.goto(`${collector.url}/#/users`)
  await other.getByLabel('Admin token').fill(adminToken)
  await other.keyboard.press('Enter')
  await other.locator('#connection.live').waitFor()
  await page.bringToFront()
  await page.getByRole('heading', { name: 'Problems', exact: true }).waitFor()
})

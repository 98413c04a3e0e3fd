import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { BAD_RELEASE, FOUR_SENTENCES, visitShop } from '../changes/deploy.ts'
import { openCollector, post, track } from '../support.ts'
import { openPage, panel, row } from './support.ts'

useBrowser()

test('what a deploy has changed stands first on the screen, and each number leads to as many events', async () => {
  const collector = await openCollector()
  await visitShop(collector)
  const page = await openPage(collector)
  await page.getByRole('link', { name: 'Changes' }).click()
  await page.getByRole('heading', { name: 'What did your deploy change?' }).waitFor()
  await page.getByRole('button', { name: 'Mark a deploy' }).click()
  await page.getByLabel('Name, if you like').fill('1.4.2')
  await page.getByRole('button', { name: 'Mark now' }).click()
  await page.getByRole('heading', { name: 'Nothing has come since then' }).waitFor()
  await visitShop(collector, BAD_RELEASE)

  const sentences = page.locator('.change-sentence')
  await expect.poll(() => sentences.allTextContents()).toEqual(FOUR_SENTENCES)
  await page.locator('.screen-state', { hasText: '480 accepted events before, 600 after' }).waitFor()
  expect(await page.getByLabel('Since').locator('option:checked').textContent()).toContain('deploy 1.4.2')
  const line = (words: string) => page.locator('.changes li', { hasText: words })
  await line('twice as often').getByRole('link', { name: '240 after' }).click()
  await page.locator('.screen-state', { hasText: 'the newest 200 events' }).waitFor()
  await page.goBack()
  await line('gone on iOS').getByRole('link', { name: '40 without it' }).click()
  await page.locator('.screen-state', { hasText: '40 events' }).waitFor()
  await page.goBack()
  await line('now a text').getByRole('link', { name: 'Compare' }).click()
  const total = panel(page).locator('.json .changed', { hasText: 'total' }).last()
  await total.locator('.was', { hasText: /was \d/ }).waitFor()
})

test('two versions can be chosen, and a mark can be removed', async () => {
  const collector = await openCollector()
  const send = (version: string, total: unknown) =>
    post(collector, '/v1/batch', {
      batch: Array.from({ length: 20 }, () =>
        track({ event: 'Bought', context: { app: { version } }, properties: { total } }),
      ),
    })
  await send('1.0', 5)
  await send('1.1', '5')
  const page = await openPage(collector, { at: 'changes' })

  const sentence = page.locator('.change-sentence')
  await sentence.getByText('“total” of “Bought” is now a text').waitFor()
  await page.getByLabel('Version before').selectOption('1.1')
  await page.getByRole('heading', { name: 'No changes' }).waitFor()
  await page.getByLabel('Version after').selectOption('1.0')
  await sentence.getByText('“total” of “Bought” is now a number').waitFor()
  await post(collector, '/api/deploys', { name: 'x' })
  await page.reload()
  await page.getByRole('link', { name: 'Before and after' }).click()
  await page.getByRole('heading', { name: 'Nothing has come since then' }).waitFor()
  await page.getByRole('button', { name: 'Remove this mark' }).click()
  await sentence.getByText('“total” of “Bought” is now a text').waitFor()
})

test('a request can be copied as curl and sent again, and an event is saved as a file', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'Asked', messageId: 'once' }))
  const page = await openPage(collector, {
    at: 'requests',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  await row(page, '/v1/track').click()
  await panel(page).getByRole('button', { name: 'Copy as curl' }).click()
  await page.locator('.notice', { hasText: 'curl command copied' }).waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toMatch(/^curl -X 'POST' \\\n {2}-u "\$TRACKPOST_WRITE_KEY:" \\\n/)
  expect(copied).toContain('"messageId":"once"')
  await panel(page).getByRole('button', { name: 'Send again' }).click()
  await page.locator('.notice', { hasText: 'Sent again: the answer is 200' }).waitFor()
  await row(page, '1 duplicate').waitFor()
  expect(collector.events().map(({ status }) => status)).toEqual(['accepted', 'repeated'])

  await page.goto(`${collector.url}/#/events?q=status:accepted`)
  await row(page, 'Asked').click()
  const waiting = page.waitForEvent('download')
  await panel(page).getByRole('link', { name: 'Save as a file' }).click()
  let text = ''
  for await (const chunk of await (await waiting).createReadStream()) text += chunk
  expect(JSON.parse(text)).toMatchObject({
    event: { name: 'Asked', repeats: [{ reason: 'duplicate' }] },
    request: { path: '/v1/track' },
  })
})

import { expect, test } from 'vitest'
import { useBrowser } from '../browser.ts'
import { openCollector, post, track } from '../support.ts'
import { openPage, panel, row } from './support.ts'

useBrowser()

const MARKUP = '<img src=x onerror="window.__xss=1"><script>window.__xss=1</script>'

test('markup in names, users, keys and values stays text on every screen', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/batch', {
    batch: [
      track({ event: MARKUP, userId: MARKUP, properties: { [MARKUP]: MARKUP, link: 'javascript:alert(1)' } }),
      { type: 'identify', userId: MARKUP, anonymousId: `${MARKUP}2`, traits: { [MARKUP]: MARKUP } },
      { type: 'group', userId: MARKUP, groupId: MARKUP, traits: { name: MARKUP } },
    ],
  })
  await post(collector, `/v1/${MARKUP}`, `{"a": ${MARKUP}`, { 'user-agent': MARKUP })
  await post(collector, '/v1/track', `{"a": ${MARKUP}`, { 'user-agent': MARKUP })
  const page = await openPage(collector)
  await row(page, '<img src=x').first().click()
  await panel(page).locator('.json', { hasText: '<script>' }).waitFor()

  const id = encodeURIComponent(MARKUP)
  const key = encodeURIComponent(`track:${MARKUP}`)
  const screens = ['', 'requests', 'users', `users?id=${id}`, 'catalogue', `catalogue?key=${key}`, 'problems']
  for (const at of [
    ...screens,
    `events?q=${encodeURIComponent(`user:"${MARKUP.replaceAll('"', '\\"')}"`)}`,
  ]) {
    await page.goto(`${collector.url}/#/${at}`)
    await page.locator('main', { hasText: /\w/ }).waitFor()
    await page.waitForLoadState('networkidle').catch(() => {})
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.locator('a[href^="javascript:"]').count()).toBe(0)
  }
  expect(await page.evaluate(() => (window as unknown as { __xss?: number }).__xss)).toBeUndefined()
})

test('characters that reorder or hide text are shown by their code, and do not affect the text around them', async () => {
  const collector = await openCollector()
  await post(
    collector,
    '/v1/track',
    track({ event: 'ltr \u202eedirrevo', properties: { 'a\u200bb': 'c\u0007d' } }),
  )
  const page = await openPage(collector)

  const title = row(page, 'ltr').locator('.title')
  await title.locator('.hidden-character', { hasText: 'U+202E' }).waitFor()
  expect(await title.textContent()).not.toContain('\u202e')
  await row(page, 'ltr').click()
  const tree = panel(page).locator('.json')
  await tree.locator('.hidden-character', { hasText: 'U+200B' }).waitFor()
  await tree.locator('.hidden-character', { hasText: 'U+0007' }).waitFor()
})

test('a crafted address of the page does no harm', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ event: 'A' }))
  const page = await openPage(collector, { expected: /40[04]/ })
  for (const at of [
    'events?open=../../etc/passwd',
    'events?open=%3Cimg%20src=x%3E',
    'nothing?x=1',
    'events?from=%22%3E%3Cimg%3E',
    'users?id=__proto__',
    'catalogue?key=constructor',
    'requests?open=-1',
    '%ZZ',
  ]) {
    await page.goto(`${collector.url}/#/${at}`)
    await page.locator('main h2, main .list, main .tools').first().waitFor()
  }
})

test('of a list of 10,000 values, the page shows fewer than 400 at first', async () => {
  const collector = await openCollector()
  const deep = JSON.parse(`${'{"a":'.repeat(55)}1${'}'.repeat(55)}`)
  const properties = { many: Array.from({ length: 10_000 }, () => 1), deep }
  await post(collector, '/v1/track', track({ event: 'Big', properties }))
  const page = await openPage(collector)
  await row(page, 'Big').click()
  await panel(page).getByRole('button', { name: 'Unfold many' }).click()
  await panel(page)
    .getByRole('button', { name: /Show more/ })
    .waitFor()
  expect(await panel(page).locator('.json li').count()).toBeLessThan(400)
})

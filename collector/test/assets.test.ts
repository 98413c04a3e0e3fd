import { expect, test } from 'vitest'
import { openCollector } from './support.ts'

test('an unchanged file of the web page is not sent again', async () => {
  const collector = await openCollector()
  const first = await fetch(collector.url)
  const etag = first.headers.get('etag') ?? ''

  const again = await fetch(collector.url, { headers: { 'if-none-match': etag } })
  const other = await fetch(collector.url, { headers: { 'if-none-match': '"older"' } })

  expect([first.status, again.status, other.status]).toEqual([200, 304, 200])
  expect(first.headers.get('cache-control')).toBe('no-cache')
  expect(first.headers.get('content-security-policy')).toContain("default-src 'none'")
})

test('a file is compressed only for clients that accept compression', async () => {
  const collector = await openCollector()
  const ask = (encoding: string) => fetch(collector.url, { headers: { 'accept-encoding': encoding } })

  const [gzipped, plain] = [await ask('gzip, br'), await ask('identity')]

  expect([gzipped, plain].map(({ headers }) => headers.get('content-encoding'))).toEqual(['gzip', null])
  expect(await gzipped.text()).toBe(await plain.text())
})

test('a path that is not a file of the web page gets 404', async () => {
  const collector = await openCollector()

  for (const path of [
    '/../package.json',
    '/%2e%2e/package.json',
    '/tsconfig.json',
    '/constructor',
    '/__proto__',
  ]) {
    expect((await fetch(`${collector.url}${path}`)).status).toBe(404)
  }
})

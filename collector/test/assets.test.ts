import { expect, test } from 'vitest'
import { openCollector } from './support.ts'

test('the page may load nothing from other hosts, and is never an old one', async () => {
  const { headers } = await fetch((await openCollector()).url)

  expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(headers.get('cache-control')).toBe('no-store')
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

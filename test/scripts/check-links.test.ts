import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { brokenLinks } from '../../scripts/check-links.mjs'

let site: string
beforeEach(() => {
  site = mkdtempSync(join(tmpdir(), 'trackpost-site-'))
  mkdirSync(join(site, 'api'))
  writeFileSync(join(site, 'logo.svg'), '<svg/>')
  writeFileSync(join(site, 'guide.html'), '<h2 id="one">One</h2><h2 id="ü&amp;">Two</h2>')
  writeFileSync(join(site, 'api/index.html'), '<a href="../guide#one">One</a>')
})
afterEach(() => rmSync(site, { recursive: true }))

test('links to existing pages, anchors, files and other sites are accepted', () => {
  const links = [
    '/guide',
    '/guide#one',
    '/guide.html#one',
    '/guide#%C3%BC&amp;',
    '/api/',
    '/logo.svg',
    '#here',
    '/guide#',
  ]
  const others = ['https://example.com/guide#none', 'mailto:ada@example.com', '//example.com/x']
  const html = [...links, ...others].map((link) => `<a href="${link}">x</a>`).join('')
  writeFileSync(join(site, 'index.html'), `<p id="here">${html}<img src="/logo.svg"></p>`)

  expect(brokenLinks(site)).toEqual([])
})

test.each([
  ['/nothing', '/index.html: /nothing does not exist'],
  ['/guide#three', '/index.html: /guide#three has no such anchor'],
  ['#there', '/index.html: #there has no such anchor'],
  ['/logo.png', '/index.html: /logo.png does not exist'],
  ['api/nothing', '/index.html: api/nothing does not exist'],
])('%s is a broken link', (link, complaint) => {
  writeFileSync(join(site, 'index.html'), `<a href="${link}">x</a>`)

  expect(brokenLinks(site)).toEqual([complaint])
})

test('a site below a base path is checked without the base', () => {
  writeFileSync(join(site, 'index.html'), '<a href="/base/guide">x</a><a href="/base/none">x</a>')

  expect(brokenLinks(site, '/base/')).toEqual(['/index.html: /base/none does not exist'])
})

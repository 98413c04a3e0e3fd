import { execFile } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { findBrowser } from '../scripts/find-browser.mjs'
import { OFF_IN_PLAYWRIGHT } from './browser-args.ts'

const folder = mkdtempSync(join(tmpdir(), 'trackpost-browser-'))

function program(path: string): string {
  const whole = join(folder, path)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, '#!/bin/sh\n')
  chmodSync(whole, 0o755)
  return whole
}

test('CHROME_PATH sets the browser; if it is wrong, no other browser is used', () => {
  const chrome = program('my-chrome')

  expect(findBrowser({ CHROME_PATH: chrome })).toBe(chrome)
  expect(findBrowser({ CHROME_PATH: join(folder, 'none') })).toBeUndefined()
})

test('the newest download of Playwright is found if there is no other browser', () => {
  program('cache/chromium-999/chrome-linux/chrome')
  const newest = program('cache/chromium-1200/chrome-linux/chrome')

  const found = findBrowser({ PLAYWRIGHT_BROWSERS_PATH: join(folder, 'cache') })

  // If this machine has a system browser, `findBrowser` prefers that browser.
  expect([newest, '/usr/bin/chromium', '/usr/bin/google-chrome']).toContain(found)
})

test('if no browser can be installed, the script reports that tests will be skipped, and succeeds', async () => {
  const script = fileURLToPath(new URL('../scripts/ensure-chromium.sh', import.meta.url))
  const { code, err } = await new Promise<{ code: unknown; err: string }>((resolve) => {
    const env = { ...process.env, CHROME_PATH: join(folder, 'none') }
    execFile('sh', [script], { env }, (error, _out, err) => resolve({ code: error?.code ?? 0, err }))
  })

  expect(code).toBe(0)
  expect(err).toContain('SKIPPED')
})

test('the tests turn off every browser feature that Playwright turns off', () => {
  const playwright = dirname(createRequire(import.meta.url).resolve('playwright-core'))
  const code = readFileSync(join(playwright, 'lib/coreBundle.js'), 'utf8')
  const [, list = ''] = /disabledFeatures = \[([^\]]+)\]/.exec(code) ?? []

  expect([...list.matchAll(/^\s*"(\w+)"/gm)].map(([, name]) => name)).toEqual(OFF_IN_PLAYWRIGHT)
})

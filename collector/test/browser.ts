import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, test } from 'vitest'
import { findBrowser } from '../scripts/find-browser.mjs'
import { BROWSER_ARGS } from './browser-args.ts'

const executablePath = findBrowser()

/** `test`, or `test.skip` where there is no Chromium: the count of skipped tests then says so. */
export const browserTest = executablePath === undefined ? test.skip : test

/** Starts a Chromium for the tests of this file, and ends it after them. */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined
  beforeAll(async () => {
    if (executablePath !== undefined) {
      browser = await chromium.launch({ executablePath, args: BROWSER_ARGS })
    }
  }, 60_000)
  afterAll(() => browser?.close())
  return () => {
    if (browser === undefined) throw new Error('no browser was found')
    return browser
  }
}

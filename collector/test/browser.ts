import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { findBrowser } from '../scripts/find-browser.mjs'
import { BROWSER_ARGS } from './browser-args.ts'

const executablePath = findBrowser()
let running: Browser | undefined

/** Starts one Chromium for all tests of a file, or skips them if this machine has no Chromium. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (executablePath !== undefined) {
      running = await chromium.launch({ executablePath, args: BROWSER_ARGS })
    }
  })
  beforeEach(({ skip }) => {
    skip(
      executablePath === undefined,
      'no Chromium was found: collector/scripts/ensure-chromium.sh installs one',
    )
  })
  afterAll(() => running?.close())
}

export function browser(): Browser {
  if (running === undefined) throw new Error('useBrowser() is missing')
  return running
}

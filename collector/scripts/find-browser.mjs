// Finds an installed Chromium: the one of CHROME_PATH, one in the usual places, or one that Playwright has downloaded. If run
// as a program, prints the path, or exits with 1 if there is none.
import { accessSync, constants, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const PLACES = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/usr/bin/microsoft-edge',
  '/snap/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
  'C:\\Program Files (x86)\\Google\\Chrome\\Application\\chrome.exe',
]

/** Paths of the browser inside a folder that Playwright has downloaded. */
const IN_PLAYWRIGHT = [
  'chrome-linux/chrome',
  'chrome-linux64/chrome',
  'chrome-mac/Chromium.app/Contents/MacOS/Chromium',
  'chrome-mac-arm64/Chromium.app/Contents/MacOS/Chromium',
  'chrome-win/chrome.exe',
]

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function ofPlaywright(env) {
  const caches = [
    env.PLAYWRIGHT_BROWSERS_PATH,
    join(homedir(), '.cache', 'ms-playwright'),
    join(homedir(), 'Library', 'Caches', 'ms-playwright'),
    env.LOCALAPPDATA && join(env.LOCALAPPDATA, 'ms-playwright'),
  ]
  return caches.filter(Boolean).flatMap((cache) => {
    try {
      const newestFirst = readdirSync(cache)
        .filter((name) => /^chromium-\d+$/.test(name))
        .sort((one, other) => Number(other.slice(9)) - Number(one.slice(9)))
      return newestFirst.flatMap((name) => IN_PLAYWRIGHT.map((program) => join(cache, name, program)))
    } catch {
      return []
    }
  })
}

/** If CHROME_PATH is set, no other Chromium is used. */
export function findBrowser(env = process.env) {
  if (env.CHROME_PATH) return isProgram(env.CHROME_PATH) ? env.CHROME_PATH : undefined
  return [...PLACES, ...ofPlaywright(env)].find(isProgram)
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const path = findBrowser()
  if (path === undefined) process.exitCode = 1
  else console.log(path)
}

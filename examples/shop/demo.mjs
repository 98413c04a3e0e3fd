/**
 * Sends a few hundred visits to the shop, which is a separate process. The shop sends its events to a relay, which passes them
 * on to the collector. The relay fails for a moment. Then the demo stops the shop and compares the visits, the outcomes in the
 * SDK and the records of the collector. Exits with 0 only if they agree.
 *
 * With `--stay` the page of the collector stays open until Ctrl+C.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { startCollector } from 'trackpost-collector'
import { collectorAccount, findProblems } from './accounts.mjs'
import { startRelay } from './relay.mjs'
import { printReport } from './report.mjs'
import { expectedEvents, readVisits, visitShop } from './visits.mjs'

const WRITE_KEY = 'demo-write-key'
/** The port of the page with `--stay`, unless it is in use. */
const PAGE_PORT = 8787
/** Longer than the time limit of `closeAndFlush` in the shop, 8 s. */
const STOP_TIMEOUT_MS = 10_000

const { stay } = parseArgs({ options: { stay: { type: 'boolean', default: false } } }).values

const startedMs = Date.now()
const visits = readVisits()
const collector = await openCollector()
const relay = await startRelay(collector.url)
const shop = await startShop(relay.url)

for (const [index, visit] of visits.entries()) {
  // The relay fails: first with one error, then with a rate limit.
  if (index === Math.floor(visits.length * 0.6)) {
    relay.faults.push({ status: 503 }, { status: 429, headers: { 'Retry-After': '1' } })
  }
  await visitShop(shop.url, visit)
}
const exit = await shop.stop()
await relay.close()

const expected = visits.flatMap(expectedEvents)
const recorded = collectorAccount(collector.events())
const { requests } = relay
const { log } = shop
const endedMs = Date.now()
const problems = findProblems({ expected, log, exit, recorded, requests, startedMs, endedMs })
printReport({ visits, expected, log, recorded, requests, problems, elapsedMs: endedMs - startedMs })
process.exitCode = problems.length === 0 ? 0 : 1

if (stay) {
  const isAsked = Promise.race(['SIGINT', 'SIGTERM'].map((signal) => once(process, signal)))
  console.log(`\nThe events are on the collector's page, ${collector.url}; Ctrl+C ends it.`)
  await isAsked
}
await collector.close()

async function openCollector() {
  const open = (port) => startCollector({ port, store: ':memory:' })
  if (!stay) return open(0)
  try {
    return await open(PAGE_PORT)
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error
    return open(0)
  }
}

async function startShop(host) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('shop.mjs', import.meta.url))], {
    env: { ...process.env, TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: host, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // If this program throws, the shop must end as well.
  process.once('exit', () => child.kill('SIGKILL'))
  const log = []
  const closed = once(child, 'close')
  const url = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`the shop ended with exit code ${code}`)))
    createInterface(child.stdout).on('line', (line) => {
      const entry = JSON.parse(line)
      log.push(entry)
      if (entry.message === 'listening') resolve(entry.url)
    })
  })
  return {
    url,
    log,
    async stop() {
      child.kill('SIGTERM')
      const tooLate = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
      const [code, signal] = await closed
      clearTimeout(tooLate)
      return { code, signal }
    },
  }
}

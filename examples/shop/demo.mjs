/**
 * Sends a few hundred visits to the shop, a process of its own, while the service has a bad moment; stops the
 * shop; and compares three accounts of every event: what the visits lead to, what the SDK says, what arrived.
 * Exits 0 only if they agree.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startReceiver } from '../receiver.mjs'
import { findProblems } from './accounts.mjs'
import { printReport } from './report.mjs'
import { expectedEvents, readVisits, visitShop } from './visits.mjs'

const WRITE_KEY = 'demo-write-key'
/** Longer than the shop gives itself. */
const STOP_TIMEOUT_MS = 10_000
/** For the test of this demo: `lose` or `change` makes the receiver spoil one event after answering 200. */
const SABOTAGE = process.env.DEMO_SABOTAGE

const startedMs = Date.now()
const visits = readVisits()
const receiver = await startReceiver({ writeKey: WRITE_KEY, keep })
const shop = await startShop(receiver.url)

for (const [index, visit] of visits.entries()) {
  // The bad moment: one error, and then a rate limit.
  if (index === Math.floor(visits.length * 0.6)) {
    receiver.faults.push({ status: 503 }, { status: 429, headers: { 'Retry-After': '1' } })
  }
  await visitShop(shop.url, visit)
}
const exit = await shop.stop()
await receiver.close()

const expected = visits.flatMap(expectedEvents)
const problems = findProblems({ expected, log: shop.log, exit, receiver, startedMs, endedMs: Date.now() })
printReport({ visits, expected, log: shop.log, receiver, problems, elapsedMs: Date.now() - startedMs })
process.exitCode = problems.length === 0 ? 0 : 1

async function startShop(host) {
  const child = spawn(process.execPath, [fileURLToPath(new URL('shop.mjs', import.meta.url))], {
    env: { ...process.env, WRITE_KEY, TRACKPOST_HOST: host, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Should anything here throw, the shop must not be left behind.
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

function keep(message) {
  if (SABOTAGE === undefined || message.messageId !== 'visit-0100') return message
  return SABOTAGE === 'lose' ? undefined : { ...message, userId: 'somebody-else' }
}

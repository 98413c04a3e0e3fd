/**
 * Kills a service while it tracks events, starts it again, and compares the events that it had stored with the events that have
 * arrived. Exits with 0 only if nothing is lost. To run it: `npm run demo:spool`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { startCollector } from 'trackpost-collector'

const ORDERS = 20_000
/** When this number of orders is stored, the collector starts to respond with 503. */
const OUTAGE_AT = 3_000
/** The service is killed when it has stored this number of orders. */
const KILL_AT = 6_000

const SERVICE = fileURLToPath(new URL('./spool-service.mjs', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'trackpost-demo-'))
const collector = await startCollector({ port: 0, store: ':memory:' })

let stored = 0
const first = start(ORDERS)
for await (const line of createInterface(first.stdout)) {
  if (line.startsWith('stored ')) stored = Number(line.slice(7))
  if (stored >= OUTAGE_AT && collector.faults().rules.length === 0)
    collector.respondNext({ status: 503, times: null })
  if (stored >= KILL_AT) first.kill('SIGKILL')
}
const arrivedBefore = collector.count({ status: 'accepted' })
console.log(`the service was killed: it had stored ${stored} orders, of which ${arrivedBefore} had arrived`)

collector.clearFaults()
const second = start(0)
let last = ''
for await (const line of createInterface(second.stdout)) last = line
console.log(`it was started again: ${last}`)

const arrived = new Set(collector.events({ status: 'accepted' }).map(({ messageId }) => messageId))
const repeated = collector.count({ reason: 'duplicate' })
await collector.close()
rmSync(directory, { recursive: true, force: true })
const missing = Array.from({ length: stored }, (_, index) => `order-${index + 1}`).filter(
  (id) => !arrived.has(id),
)
console.log(`${arrived.size} orders have arrived, ${repeated} of them twice, with the same id`)
console.log(`${missing.length} lost`)
process.exitCode = missing.length === 0 ? 0 : 1

function start(orders) {
  const env = {
    ...process.env,
    DIRECTORY: directory,
    TRACKPOST_WRITE_KEY: 'demo-write-key',
    TRACKPOST_HOST: collector.url,
  }
  const child = spawn(process.execPath, [SERVICE, String(orders)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  void once(child, 'exit')
  return child
}

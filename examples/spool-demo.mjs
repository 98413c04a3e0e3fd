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
import { startReceiver } from './receiver.mjs'

const ORDERS = 20_000
/** When this number of orders is stored, the receiver starts to respond with 503. */
const OUTAGE_AT = 3_000
/** The service is killed when it has stored this number of orders. */
const KILL_AT = 6_000

const SERVICE = fileURLToPath(new URL('./spool-service.mjs', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'trackpost-demo-'))
const receiver = await startReceiver({ writeKey: 'demo-write-key' })

const outage = Array.from({ length: 100 }, () => ({ status: 503 }))
let stored = 0
const first = start(ORDERS)
for await (const line of createInterface(first.stdout)) {
  if (line.startsWith('stored ')) stored = Number(line.slice(7))
  if (stored >= OUTAGE_AT && receiver.faults.length === 0) receiver.faults.push(...outage)
  if (stored >= KILL_AT) first.kill('SIGKILL')
}
const arrivedBefore = receiver.events.length
console.log(`the service was killed: it had stored ${stored} orders, of which ${arrivedBefore} had arrived`)

receiver.faults.length = 0
const second = start(0)
let last = ''
for await (const line of createInterface(second.stdout)) last = line
console.log(`it was started again: ${last}`)

await receiver.close()
rmSync(directory, { recursive: true, force: true })
const arrived = new Set(receiver.events.map(({ messageId }) => messageId))
const missing = Array.from({ length: stored }, (_, index) => `order-${index + 1}`).filter(
  (id) => !arrived.has(id),
)
console.log(
  `${arrived.size} orders have arrived, ${receiver.duplicates.length} of them twice, with the same id`,
)
console.log(`${missing.length} lost`)
process.exitCode = missing.length === 0 ? 0 : 1

function start(orders) {
  const env = {
    ...process.env,
    DIRECTORY: directory,
    TRACKPOST_WRITE_KEY: 'demo-write-key',
    TRACKPOST_HOST: receiver.url,
  }
  const child = spawn(process.execPath, [SERVICE, String(orders)], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  void once(child, 'exit')
  return child
}

/**
 * A service whose events survive a crash of its process. To run it:
 * DIRECTORY=... TRACKPOST_WRITE_KEY=... node examples/spool-service.mjs ORDERS
 *
 * It tracks one event for each of `ORDERS` orders. After every hundred, it waits for the disk and prints how many are stored.
 * It also delivers the events that an earlier process has left in the directory. It ends when no event is left.
 */
import { readdirSync } from 'node:fs'
import { Analytics } from 'trackpost'
import { FileSpool } from 'trackpost/spool'

const { DIRECTORY: directory = './events', TRACKPOST_WRITE_KEY: writeKey, TRACKPOST_HOST: host } = process.env
const orders = Number(process.argv[2] ?? 0)
const name = process.argv[3] ?? 'order'

const spool = new FileSpool(directory)
const analytics = new Analytics({ writeKey, host, spool })

for (let order = 1; order <= orders; order++) {
  analytics.track({
    userId: `customer-${order % 97}`,
    event: 'Order Completed',
    messageId: `${name}-${order}`,
    properties: { order, total: (order * 995) / 100 },
  })
  if (order % 100 > 0) continue
  if (await analytics.stored()) console.log(`stored ${order}`)
}
// What an earlier process has left is taken over file by file. A file is removed when its events are delivered.
const isLeft = () => readdirSync(directory).some((file) => file.endsWith('.jsonl'))
while (orders === 0 && isLeft()) await new Promise((resolve) => setTimeout(resolve, 20))

await analytics.closeAndFlush()
const { recovered, delivered, deferred } = analytics.stats
console.log(`recovered ${recovered}, delivered ${delivered}, deferred ${deferred}`)

/**
 * A service whose events survive the death of its process. Usage: DIRECTORY=... WRITE_KEY=... node
 * examples/spool-service.mjs ORDERS
 *
 * It records this number of orders, a hundred in each turn, and prints how many of them are stored. When it
 * starts, it delivers events that an earlier process has left in the directory. It ends when it has nothing
 * left to do.
 */
import { Analytics } from 'trackpost'
import { FileSpool } from 'trackpost/spool'

const { DIRECTORY: directory = './events', WRITE_KEY: writeKey, TRACKPOST_HOST: host } = process.env
const orders = Number(process.argv[2] ?? 0)
const name = process.argv[3] ?? 'order'

const spool = new FileSpool({ directory })
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
// Events of an earlier process are read in the background.
while (orders === 0 && spool.stats.bytes > 0) await new Promise((resolve) => setTimeout(resolve, 20))

await analytics.closeAndFlush()
const { recovered, delivered, deferred } = analytics.stats
console.log(`recovered ${recovered}, delivered ${delivered}, deferred ${deferred}`)

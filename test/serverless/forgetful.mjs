// A handler with a mistake: it returns without a flush, so its events are lost.
import { Analytics } from 'trackpost'

const analytics = new Analytics({
  writeKey: process.env.TRACKPOST_WRITE_KEY,
  host: process.env.TRACKPOST_HOST,
})

export async function handler({ orderId, userId }) {
  for (const event of ['one', 'two', 'three']) analytics.track({ userId, event, properties: { orderId } })
  return { statusCode: 200, body: JSON.stringify({ orderId }) }
}

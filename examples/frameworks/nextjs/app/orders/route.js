import { withScope } from '../../lib/analytics.js'
import { placeOrder } from '../../lib/orders.js'

export const POST = withScope(async (request) => {
  const order = await request.json()
  await placeOrder(order)
  return Response.json({ placed: order.orderId })
})

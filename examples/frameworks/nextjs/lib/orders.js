import { analytics } from './analytics.js'

/** This function does not know the request. */
export async function placeOrder({ orderId, total }) {
  analytics().track({ event: 'Order Started', properties: { orderId } })
  await charge()
  analytics().track({ event: 'Order Completed', properties: { orderId, total } })
}

/** Stands for a payment. */
function charge() {
  return new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
}

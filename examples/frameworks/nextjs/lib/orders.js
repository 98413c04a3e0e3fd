import { analytics } from './analytics.js'

/** This function gets no request: the scope adds the user, the address and the page to its events. */
export async function placeOrder({ orderId, total }) {
  analytics().track({ event: 'Order Started', properties: { orderId } })
  await charge()
  analytics().track({ event: 'Order Completed', properties: { orderId, total } })
}

/** Stands in for a payment. */
function charge() {
  return new Promise((resolve) => setTimeout(resolve, 5 * Math.random()))
}

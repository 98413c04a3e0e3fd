/** The events of the benchmark: nested properties of about 600 bytes as JSON, with characters outside ASCII. */

/**
 * Creates a new event for each call, as an application would.
 *
 * @param {number} seq The number of the event: 0 and more for measured events, negative for the warm-up. The sink, the server
 * of the benchmark, counts the numbers that arrive.
 */
export function makeEvent(seq) {
  return {
    userId: `user-${seq % 1000}`,
    event: 'Order Completed',
    properties: {
      seq,
      orderId: `2024-${seq}`,
      currency: 'EUR',
      total: 129.9,
      taxes: 20.74,
      express: true,
      coupon: null,
      shipping: {
        name: 'Zoë Müller-Łukasiewicz',
        street: 'Rua da Conceição 12, 3.º',
        city: '東京都',
        note: 'Bitte „zweimal“ klingeln – спасибо 🙂',
      },
      products: [
        { sku: 'kb-7781', name: 'Café crème “Été”', price: 9.9, quantity: 3, tags: ['bio', 'fairtrade'] },
        { sku: 'mz-0042', name: 'Mug, 300 ml', price: 14.5, quantity: 2, tags: ['ceramic'] },
      ],
      page: {
        url: 'https://shop.example/fr/panier?étape=4',
        referrer: 'https://search.example/',
        title: 'Merci !',
      },
    },
  }
}

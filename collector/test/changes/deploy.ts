import { post, track } from '../support.ts'

const PLATFORMS = ['iOS', 'Android', 'web']

/** What a release does to the events of a shop; without one, nothing. */
interface Release {
  renames?: boolean
  writesTotalAsText?: boolean
  dropsCouponOn?: string
  sendsLooksTwice?: boolean
}

/** 40 visits of a shop on each of three platforms: a look, a search, an item in the cart, an order. */
export async function visitShop(
  collector: { url: string },
  { renames, writesTotalAsText, dropsCouponOn, sendsLooksTwice }: Release = {},
): Promise<void> {
  for (const os of PLATFORMS) {
    const batch = Array.from({ length: 40 }, (_, n) => {
      const userId = `user-${os}-${n}`
      const context = { os: { name: os } }
      const one = (event: string, properties: object) => track({ event, userId, context, properties })
      const total = 10 + n / 4
      const look = () => one('Product Viewed', { sku: `tea-${n}`, price: total })
      const coupon = os === dropsCouponOn ? {} : { coupon: n % 2 === 0 ? 'SPRING' : null }
      return [
        look(),
        ...(sendsLooksTwice ? [look()] : []),
        one('Products Searched', { query: 'tea', results: n }),
        one(renames ? 'Added to Cart' : 'Product Added', {
          sku: `tea-${n}`,
          quantity: 1,
          price: total,
          cart: 'c',
        }),
        one('Order Completed', {
          total: writesTotalAsText ? total.toFixed(2) : total,
          currency: 'EUR',
          ...coupon,
        }),
      ]
    }).flat()
    const response = await post(collector, '/v1/batch', { batch })
    if (!response.ok) throw new Error(`status ${response.status}`)
  }
}

/** A release that renames an event, turns a number into a text, drops a property on one platform, and doubles a volume. */
export const BAD_RELEASE: Release = {
  renames: true,
  writesTotalAsText: true,
  dropsCouponOn: 'iOS',
  sendsLooksTwice: true,
}

/** What the screen and the API say about it. */
export const FOUR_SENTENCES = [
  '“Product Added” is gone, and “Added to Cart” has come with the same properties: it looks renamed.',
  '“total” of “Order Completed” is now a text; before, it was a number.',
  '“coupon” of “Order Completed” is gone on iOS; on Android, web, it is still there.',
  '“Product Viewed” comes twice as often as usual: 240 times, where about 120 would be usual.',
]

import { expect, onTestFinished, test, vi } from 'vitest'
import { Feed } from '../../page/src/lib/feed.ts'
import type { PageOf } from '../../page/src/lib/types.ts'

interface Item {
  id: string
}
interface ItemPage extends PageOf {
  items: Item[]
}

/** A fake collector. The test responds to each request. */
function collectorByHand() {
  const requests: Array<{
    url: string
    respond(page: Partial<ItemPage> | { count: number }): Promise<void>
  }> = []
  vi.stubGlobal('fetch', (url: string, { signal }: RequestInit = {}) => {
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason))
      requests.push({
        url,
        async respond(page) {
          const whole = { items: [], next: null, head: 'h1', ...page }
          resolve(new Response(JSON.stringify(whole)))
          // Lets the feed handle the response, and send its next request.
          await new Promise((done) => setTimeout(done))
          await new Promise((done) => setTimeout(done))
        },
      })
    })
  })
  onTestFinished(() => void vi.unstubAllGlobals())
  return requests
}

const createFeed = () =>
  new Feed<Item, ItemPage>({ path: 'api/items', countPath: 'api/count', pick: ({ items }) => items })
const ids = (feed: Feed<Item, ItemPage>) => feed.items.value.map(({ id }) => id)

test('items that arrive during a request are requested again', async () => {
  const requests = collectorByHand()
  const feed = createFeed()
  void feed.ask({})
  // New items arrive before the first response.
  void feed.follow(false)
  await requests[0]?.respond({ items: [{ id: '1' }], head: 'h1' })
  expect(requests[1]?.url).toContain('after=h1')
  // More new items arrive while the feed fetches the others.
  void feed.follow(false)
  await requests[1]?.respond({ items: [{ id: '2' }], head: 'h2' })
  expect(requests[2]?.url).toContain('after=h2')
  await requests[2]?.respond({ items: [{ id: '3' }], head: 'h3' })

  expect(ids(feed)).toEqual(['3', '2', '1'])
  expect(requests).toHaveLength(3)
})

test('a response to an older query is never shown for a newer one', async () => {
  const requests = collectorByHand()
  const feed = createFeed()
  void feed.ask({ q: 'old' })
  void feed.ask({ q: 'new' })
  await requests[1]?.respond({ items: [{ id: 'new' }] })
  await requests[0]?.respond({ items: [{ id: 'old' }] })

  expect(ids(feed)).toEqual(['new'])
  expect(feed.isStale.value).toBe(false)
})

test('while the list is paused, new items are counted with the same query, and no row is fetched', async () => {
  const requests = collectorByHand()
  const feed = createFeed()
  void feed.ask({ q: 'user:ada' })
  await requests[0]?.respond({ items: [{ id: '1' }], head: 'h1' })
  void feed.follow(true)
  expect(requests[1]?.url).toBe('api/count?q=user%3Aada&after=h1')
  await requests[1]?.respond({ count: 7 })

  expect(feed.waiting.value).toBe(7)
  expect(ids(feed)).toEqual(['1'])
})

test('if there are more new items than fit in a page, the list starts again, so that it has no gap', async () => {
  const requests = collectorByHand()
  const feed = createFeed()
  void feed.ask({})
  await requests[0]?.respond({ items: [{ id: '1' }], head: 'h1' })
  void feed.follow(false)
  await requests[1]?.respond({ items: [{ id: '9' }, { id: '8' }], head: 'h9', next: 'c8' })

  expect(ids(feed)).toEqual(['9', '8'])
  void feed.loadOlder()
  expect(requests[2]?.url).toContain('cursor=c8')
})

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

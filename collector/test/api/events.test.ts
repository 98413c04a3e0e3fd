import { expect, test } from 'vitest'
import { openCollector, post, track } from '../support.ts'

async function get(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  // biome-ignore lint/suspicious/noExplicitAny: the test only compares responses
  return { status: response.status, body: (await response.json()) as any }
}

async function openWithEvents(count: number) {
  const collector = await openCollector()
  const batch = Array.from({ length: count }, (_, index) =>
    track({ messageId: `m${index + 1}`, event: `E${index % 2}` }),
  )
  await post(collector, '/v1/batch', { batch })
  return collector
}

test('events can be filtered, and view=summary leaves out the message, which a single event includes', async () => {
  const collector = await openWithEvents(4)

  const { body } = await get(`${collector.url}/api/events?event=E1&status=accepted&view=summary&source=`)
  const one = await get(`${collector.url}/api/events/2`)
  const none = await get(`${collector.url}/api/events/99`)

  expect(body.events.map(({ messageId }: { messageId: string }) => messageId)).toEqual(['m2', 'm4'])
  expect(body.events[0]).not.toHaveProperty('message')
  expect(one.body).toMatchObject({ seq: 2, message: { messageId: 'm2' } })
  expect(none.status).toBe(404)
})

test.each([
  ['limit=0', /limit/],
  ['limit=1001', /limit/],
  ['status=good', /status/],
  ['type=Track', /type/],
  ['after=x', /after/],
  ['colour=red', /colour/],
])('the query %s is refused with 400 and the name of the parameter', async (query, message) => {
  const collector = await openCollector()

  const { status, body } = await get(`${collector.url}/api/events?${query}`)

  expect(status).toBe(400)
  expect(body.message).toMatch(message)
})

test('stats are counted by reason, type, source and second', async () => {
  const collector = await openWithEvents(3)
  await post(collector, '/v1/page', { name: 'nobody' })

  const { body } = await get(`${collector.url}/api/stats`)

  expect(body).toMatchObject({
    accepted: 3,
    rejected: 1,
    byReason: { no_user_anon_id: 1 },
    byType: { track: 3, page: 1 },
    bySource: { shop: 4 },
  })
  expect(body.perSecond).toHaveLength(60)
  const sums = body.perSecond.reduce(
    (sum: number[], one: { accepted: number; rejected: number }) => [
      (sum[0] ?? 0) + one.accepted,
      (sum[1] ?? 0) + one.rejected,
    ],
    [0, 0],
  )
  expect(sums).toEqual([3, 1])
})

test('DELETE deletes the events, and PUT is refused', async () => {
  const collector = await openWithEvents(2)

  expect((await get(`${collector.url}/api/events`, { method: 'PUT' })).status).toBe(405)
  expect((await get(`${collector.url}/api/events/1/replay`)).status).toBe(405)
  expect((await get(`${collector.url}/api/events`, { method: 'DELETE' })).status).toBe(200)
  expect((await get(`${collector.url}/api/events`)).body).toMatchObject({ events: [], next: null })
})

test('the stream reports the newest sequence number, the totals, and the deletion of all events', async () => {
  const collector = await openWithEvents(2)
  const response = await fetch(`${collector.url}/api/stream`)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const messages = () => [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))
  const until = async (isThere: (message: { lastSeq: number; epoch: number }) => boolean) => {
    while (!messages().some(isThere)) text += (await reader?.read())?.value ?? ''
    return messages().find(isThere)
  }

  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const before = await until(({ lastSeq }) => lastSeq === 2)
  expect(before).toMatchObject({ stats: { accepted: 2 } })
  await post(collector, '/v1/track', track())
  expect(await until(({ lastSeq }) => lastSeq === 3)).toMatchObject({ stats: { accepted: 3 } })
  collector.clear()
  expect(await until(({ epoch }) => epoch === before.epoch + 1)).toMatchObject({ stats: { accepted: 0 } })
  await reader?.cancel()
})

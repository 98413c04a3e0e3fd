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

test.each([
  ['limit=0', /limit/],
  ['limit=1001', /limit/],
  ['status=good', /status/],
  ['type=Track', /type/],
  ['after=x', /after/],
  ['colour=red', /colour/],
  ['cursor=nonsense', /cursor/],
  ['from=soon', /from/],
])('the query %s is refused with 400 and the name of the parameter', async (query, message) => {
  const collector = await openCollector()

  const { status, body } = await get(`${collector.url}/api/events?${query}`)

  expect(status).toBe(400)
  expect(body.message).toMatch(message)
})

test('DELETE deletes the events, PUT is refused, and a missing record gets 404', async () => {
  const collector = await openWithEvents(2)

  for (const path of ['events/999', 'requests/999999', 'users/nobody', 'catalogue/Nothing'])
    expect((await get(`${collector.url}/api/${path}`)).status).toBe(404)
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
  const until = async (isThere: (message: { head: string; epoch: number }) => boolean) => {
    while (!messages().some(isThere)) text += (await reader?.read())?.value ?? ''
    return messages().find(isThere)
  }

  expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  const before = await until(({ head }) => head === '2')
  expect(before).toMatchObject({ stats: { accepted: 2 } })
  await post(collector, '/v1/track', track())
  expect(await until(({ head }) => head === '3')).toMatchObject({ stats: { accepted: 3 } })
  collector.clear()
  expect(await until(({ epoch }) => epoch === before.epoch + 1)).toMatchObject({ stats: { accepted: 0 } })
  await reader?.cancel()
})

import { expect, test } from 'vitest'
import type { Collector } from '../../src/index.ts'
import type { RequestsPage } from '../../src/store/query-results.ts'
import { basic, openCollector, post, track } from '../support.ts'

const recorded = async ({ url }: Collector, count: number) => {
  const read = async () =>
    ((await (await fetch(`${url}/api/requests?order=oldest`)).json()) as RequestsPage).requests
  await expect.poll(async () => (await read()).length).toBe(count)
  return read()
}

const again = ({ url }: Collector, id: string | undefined) =>
  fetch(`${url}/api/requests/${id}/send`, { method: 'POST' })

test('a request that failed is sent again, with the write key of its source', async () => {
  const config = { sources: [{ name: 'web', writeKey: 'secret-key' }] }
  const collector = await openCollector({ config })
  collector.respondNext({ status: 503 })
  await post(
    collector,
    '/v1/batch',
    { batch: [track({ messageId: 'a' })] },
    { authorization: basic('secret-key') },
  )
  const [first] = await recorded(collector, 1)
  expect(collector.count()).toBe(0)

  const response = await again(collector, first?.id)

  const [, second] = await recorded(collector, 2)
  expect(await response.json()).toEqual({ status: 200, request: second?.id })
  expect(collector.events()).toMatchObject([{ messageId: 'a', source: 'web', request: second?.id }])
})

test('a request whose body or key is not known is not sent again', async () => {
  const hash = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'
  const collector = await openCollector({ config: { sources: [{ name: 'web', writeKeySha256: hash }] } })
  await post(collector, '/v1/track', track(), { authorization: basic('test') })
  const properties = { pad: 'x'.repeat(20_000) }
  await post(
    collector,
    '/v1/batch',
    { batch: [track({ properties }), track({ properties })] },
    { authorization: '' },
  )
  const [first, second] = await recorded(collector, 2)

  const answers = await Promise.all([first?.id, second?.id, '99'].map((id) => again(collector, id)))

  expect(
    await Promise.all(
      answers.map(async (one) => [one.status, ((await one.json()) as { code: string }).code]),
    ),
  ).toEqual([
    [409, 'key_not_known'],
    [409, 'body_not_kept'],
    [404, 'no_request'],
  ])
})

test('an event is a file with its request, for a colleague', async () => {
  const collector = await openCollector()
  await post(collector, '/v1/track', track({ messageId: 'a' }))
  await recorded(collector, 1)

  const response = await fetch(`${collector.url}/api/events/1/file`)

  expect(response.headers.get('content-disposition')).toBe('attachment; filename="event-1.json"')
  expect(await response.json()).toMatchObject({
    event: { id: '1', messageId: 'a', repeats: [], destinations: [] },
    request: { path: '/v1/track', body: expect.stringContaining('"messageId":"a"') },
  })
  expect((await fetch(`${collector.url}/api/events/9/file`)).status).toBe(404)
})

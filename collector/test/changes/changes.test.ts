import { expect, test } from 'vitest'
import type { ChangesReply } from '../../src/changes/answer.ts'
import { openCollector, post, track } from '../support.ts'
import { BAD_RELEASE, FOUR_SENTENCES, visitShop } from './deploy.ts'

async function ask(collector: { url: string }, path: string): Promise<ChangesReply> {
  const response = await fetch(`${collector.url}/api/changes${path}`)
  expect(response.status).toBe(200)
  return (await response.json()) as ChangesReply
}

const mark = (collector: { url: string }, body: unknown = {}) => post(collector, '/api/deploys', body)

const sentences = ({ comparison }: ChangesReply) => comparison?.changes.map(({ sentence }) => sentence)

test('a bad release is told in four sentences, with links to as many events as they name', async () => {
  const collector = await openCollector()
  await visitShop(collector)
  const marked = await mark(collector, { name: '1.4.2' })
  expect(marked.status).toBe(201)
  await visitShop(collector, BAD_RELEASE)

  const reply = await ask(collector, '')
  expect(sentences(reply)?.slice(0, 4)).toEqual(FOUR_SENTENCES)
  expect(sentences(reply)).toHaveLength(4)
  expect(reply.deploys).toEqual([await marked.json()])
  expect(reply.comparison?.after).toMatchObject({ from: reply.deploys[0]?.at, events: 600, users: 120 })
  let searches = 0
  for (const { before, after } of reply.comparison?.changes ?? []) {
    for (const { q, from, to, count, of, example } of [before, after]) {
      expect(example).toMatch(/^\d+$/)
      if (q === null) continue
      searches++
      const found = new URLSearchParams({ q, ...(from && { from }), ...(to && { to }) })
      const answer = await (await fetch(`${collector.url}/api/count?${found}`)).json()
      expect({ q, ...answer }).toMatchObject({ q, count: count || of })
    }
  }
  expect(searches).toBe(6)
})

test('two versions of an app are compared without a deploy, and an earlier deploy ends where the next one begins', async () => {
  const collector = await openCollector()
  const send = (version: string, total: unknown, count = 20) => {
    const context = { app: { version } }
    return post(collector, '/v1/batch', {
      batch: Array.from({ length: count }, () => track({ event: 'Bought', context, properties: { total } })),
    })
  }
  await send('1.0', 5)
  await send('1.1', '5')
  await send('1.0', 5)
  const words = ['“total” of “Bought” is now a text; before, it was a number.']

  expect(sentences(await ask(collector, ''))).toEqual(words)
  expect(sentences(await ask(collector, '?before=1.0&after=1.1'))).toEqual(words)
  expect(sentences(await ask(collector, '?before=1.1&after=1.0'))).toEqual([
    '“total” of “Bought” is now a number; before, it was a text.',
  ])
  const { deploys, versions } = await ask(collector, '')
  expect(deploys).toEqual([])
  expect(versions.map(({ version, events }) => [version, events])).toEqual([
    ['1.1', 20],
    ['1.0', 40],
  ])
  await mark(collector, { name: 'first' })
  await send('1.2', true)
  await mark(collector, { name: 'second' })
  await send('1.2', [])
  const [second, first] = (await ask(collector, '')).deploys
  expect(sentences(await ask(collector, ''))).toEqual([
    '“total” of “Bought” is now a list; before, it was true or false.',
  ])
  const earlier = await ask(collector, `?since=${first?.at}`)
  expect(earlier.comparison?.after).toMatchObject({ from: first?.at, to: second?.at, events: 20 })
})

test('deleted events are no part of a comparison, and nothing to compare is no error', async () => {
  const collector = await openCollector()
  expect((await ask(collector, '')).comparison).toBeNull()
  await post(collector, '/v1/track', track({ event: 'Before' }))
  await mark(collector)
  expect(await ask(collector, '')).toMatchObject({ comparison: { changes: [], after: { events: 0 } } })
  await post(collector, '/v1/track', track({ event: 'Now' }))
  expect((await ask(collector, '')).comparison?.before.events).toBe(1)
  const first = collector.findLast({ event: 'Before' })
  await post(collector, '/api/events/delete', { ids: [first?.id] })
  expect((await ask(collector, '')).comparison).toMatchObject({ changes: [], before: { events: 0 } })
})

test('a deploy can be marked for a time in the past and removed, and a bad one is refused', async () => {
  const collector = await openCollector()
  const at = '2026-05-17T09:30:00.000Z'
  const old = (await (await mark(collector, { at, name: 'old' })).json()) as { id: string }
  expect(old).toEqual({ id: old.id, at, name: 'old' })
  await mark(collector, { name: 'new' })
  expect((await ask(collector, '')).deploys.map(({ name }) => name)).toEqual(['new', 'old'])

  const remove = () => fetch(`${collector.url}/api/deploys/${old.id}`, { method: 'DELETE' })
  expect((await remove()).status).toBe(200)
  expect((await remove()).status).toBe(404)
  for (const body of [
    { at: 'yesterday' },
    { name: 5 },
    { name: 'x'.repeat(201) },
    { other: 1 },
    [],
    'text',
  ]) {
    expect((await mark(collector, body)).status).toBe(400)
  }
  for (const query of ['?before=1', '?since=soon', '?since=-5m&before=1&after=2', '?nonsense=1']) {
    expect((await fetch(`${collector.url}/api/changes${query}`)).status).toBe(400)
  }
  expect((await ask(collector, '')).deploys.map(({ name }) => name)).toEqual(['new'])
  expect((await fetch(`${collector.url}/api/changes`, { method: 'POST' })).status).toBe(405)
})

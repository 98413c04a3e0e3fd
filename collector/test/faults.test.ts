import { expect, test } from 'vitest'
import { FaultError } from '../src/index.ts'
import { basic, exchange, fakeClock, openCollector, post, track } from './support.ts'

test('respondNext sets the status and headers of the next responses; later ones are normal again', async () => {
  const collector = await openCollector()
  collector.respondNext({ status: 503, headers: { 'retry-after': '2' }, times: 2 })
  const send = () => post(collector, '/v1/track', track())

  const [first, second, third] = [await send(), await send(), await send()]

  expect([first.status, second.status, third.status]).toEqual([503, 503, 200])
  expect(first.headers.get('retry-after')).toBe('2')
  expect(await first.json()).toMatchObject({ success: false, code: 'fault_on_demand' })
  expect(collector.count()).toBe(1)
})

test('several calls make a script: each request gets the first fault that matches it', async () => {
  const collector = await openCollector()
  collector.respondNext({ status: 429, path: '/v1/batch' })
  collector.respondNext({ status: 500 })
  collector.respondNext({ status: 418, body: 'short and stout', headers: { 'content-type': 'text/plain' } })

  const statuses = []
  for (const path of ['/v1/track', '/v1/t', '/v1/b', '/v1/track']) {
    statuses.push((await post(collector, path, path === '/v1/b' ? { batch: [track()] } : track())).status)
  }

  expect(statuses).toEqual([500, 418, 429, 200])
})

test('a fault can apply to one source: its key is found in the header or in the body of a request', async () => {
  const collector = await openCollector()
  collector.respondNext({ status: 500, source: 'b', times: null })
  const send = async (headers: Record<string, string>, fields = {}) =>
    (await post(collector, '/v1/track', track(fields), headers)).status

  expect(await send({ authorization: basic('a') })).toBe(200)
  expect(await send({ authorization: basic('b') })).toBe(500)
  const keyInBody = await fetch(`${collector.url}/v1/track`, {
    method: 'POST',
    body: JSON.stringify(track({ writeKey: 'b' })),
  })
  expect(keyInBody.status).toBe(500)
})

test('reset ends the connection, and hang sends no response until the collector is closed', async () => {
  const collector = await openCollector()
  const send = () => post(collector, '/v1/track', track())

  collector.respondNext({ reset: true })
  await expect(send()).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
  collector.respondNext({ hang: true })
  const hanging = send().then(
    () => 'answered',
    () => 'cut',
  )
  await expect.poll(() => collector.faults().injected).toBe(2)
  await collector.close()

  expect(await hanging).toBe('cut')
})

test('delay delays the response, and without a status the request is handled as usual', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock })
  collector.respondNext({ delay: 60_000 })
  const response = post(collector, '/v1/track', track())

  await expect.poll(() => clock.delays()).toContain(60_000)
  expect(collector.count()).toBe(0)
  clock.advance(60_000)

  expect((await response).status).toBe(200)
  expect(collector.count({ status: 'accepted' })).toBe(1)
})

test('a fault with a duration ends by itself', async () => {
  const clock = fakeClock()
  const collector = await openCollector({ clock })
  const { until, times } = collector.respondNext({ status: 503, forMs: 30_000 })
  const statusNow = async () => (await post(collector, '/v1/track', track())).status

  expect({ until, times }).toEqual({ until: new Date(clock.now() + 30_000).toISOString(), times: null })
  expect([await statusNow(), await statusNow()]).toEqual([503, 503])
  clock.advance(29_999)
  expect(await statusNow()).toBe(503)
  clock.advance(1)
  expect(await statusNow()).toBe(200)
  expect(collector.faults().rules).toEqual([])
})

test('a fault with a chance is used up only when it applies', async () => {
  const dice = [0.9, 0.4]
  const collector = await openCollector({ clock: { ...fakeClock(), random: () => dice.shift() ?? 1 } })
  collector.respondNext({ status: 500, chance: 0.5 })

  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await post(collector, '/v1/track', track())).status)

  expect(statuses).toEqual([200, 500, 200])
})

test.each([
  [{}, /one of status, delay, hang and reset/],
  [{ status: 99 }, /status/],
  [{ status: 500, hang: true }, /exclude/],
  [{ status: 500, times: 0 }, /times/],
  [{ status: 500, chance: 2 }, /chance/],
  [{ status: 500, forMs: 0 }, /forMs/],
  [{ delay: Number.NaN }, /delay/],
  [{ status: 500, headers: { 'x\r\ny': '1' } }, /headers/],
  [{ status: 500, headers: { x: 'a\r\nb' } }, /headers/],
])('%j is not a valid fault', async (fault, message) => {
  const collector = await openCollector()

  expect(() => collector.respondNext(fault)).toThrow(FaultError)
  expect(() => collector.respondNext(fault)).toThrow(message)
})

const json = { 'content-type': 'application/json' }

test('/api/faults sets, lists and removes the same faults', async () => {
  const collector = await openCollector()
  const api = `${collector.url}/api/faults`
  const add = (body: unknown) => fetch(api, { method: 'POST', headers: json, body: JSON.stringify(body) })

  const added = await add([
    { status: 503, times: null },
    { hang: true, path: '/token' },
  ])
  expect(added.status).toBe(201)
  const { rules } = (await added.json()) as { rules: Array<{ id: string }> }
  expect(rules).toMatchObject([
    { status: 503, times: null, remaining: null, chance: 1, path: null },
    { hang: true, times: 1, remaining: 1, path: '/token' },
  ])
  expect((await post(collector, '/v1/track', track())).status).toBe(503)
  expect(await (await fetch(api)).json()).toEqual({ rules, injected: 1 })
  expect((await fetch(`${api}/${rules[0]?.id}`, { method: 'DELETE' })).status).toBe(200)
  expect((await post(collector, '/v1/track', track())).status).toBe(200)
  expect((await add({ status: 503, times: null })).status).toBe(201)
  expect((await post(collector, '/v1/track', track())).status).toBe(503)
  expect((await fetch(api, { method: 'DELETE' })).status).toBe(200)
  expect(await (await fetch(api)).json()).toEqual({ rules: [], injected: 2 })
})

test('/api/faults refuses the whole list if one fault is invalid', async () => {
  const collector = await openCollector()
  const api = `${collector.url}/api/faults`
  const send = async (body: string, headers: Record<string, string> = json) =>
    (await fetch(api, { method: 'POST', headers, body })).status

  expect(await send('[{"status":503},{"status":7}]')).toBe(400)
  expect(await send('{"staus":503}')).toBe(400)
  expect(await send('{"status":')).toBe(400)
  expect(await send('{"status":503}', { 'content-type': 'text/plain' })).toBe(400)
  expect((await fetch(api, { method: 'PUT' })).status).toBe(405)
  expect((await fetch(`${api}/1`)).status).toBe(405)
  expect((await fetch(`${api}/9`, { method: 'DELETE' })).status).toBe(404)
  expect(collector.faults().rules).toEqual([])
})

test('a fault also applies to a request whose body would be refused', async () => {
  const collector = await openCollector()
  collector.respondNext({ status: 502, times: 2 })

  const broken = await post(collector, '/v1/track', '{')
  const large = await exchange(
    collector.port,
    'POST /v1/track HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\nConnection: close\r\n\r\n{',
  )

  expect(broken.status).toBe(502)
  expect(large).toMatch(/^HTTP\/1\.1 502 /)
})

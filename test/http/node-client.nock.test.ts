import nock from 'nock'
import { afterAll, expect, test } from 'vitest'
import { NodeHTTPClient } from '../../src/http/node-client.ts'

afterAll(() => nock.restore())

test.each(['https://api.segment.io', 'http://tracking.invalid'])(
  'nock intercepts the client over node:http, and gets the body: %s',
  async (host) => {
    nock.disableNetConnect()
    const bodies: unknown[] = []
    nock(host)
      .post('/v1/batch', (body) => {
        bodies.push(body)
        return true
      })
      .reply(503, 'désolé', { 'Retry-After': '2' })

    const response = await new NodeHTTPClient().makeRequest({
      url: `${host}/v1/batch`,
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"batch":[{"event":"Commande passée"}]}',
      httpRequestTimeout: 10_000,
    })

    expect(response.status).toBe(503)
    expect(await response.text?.()).toBe('désolé')
    expect(bodies).toEqual([{ batch: [{ event: 'Commande passée' }] }])
  },
)

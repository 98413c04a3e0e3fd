import { afterAll, beforeAll, expect, test } from 'vitest'
import { Analytics } from '../../src/analytics.ts'
import { NodeHTTPClient } from '../../src/http/node-client.ts'
import { type Loopback, listen } from '../support/loopback.ts'

const connections: (string | undefined)[] = []
let api: Loopback

beforeAll(async () => {
  api = await listen((request, response) => {
    connections.push(request.headers.connection)
    request.resume().on('end', () => response.end('{}'))
  })
})
afterAll(() => api.close())

test.each([
  ['the default client', undefined],
  ['the client over node:http', new NodeHTTPClient()],
])(
  '%s asks for the connection to be closed with the requests of a closing flush only',
  async (_label, httpClient) => {
    connections.length = 0
    const analytics = new Analytics({ writeKey: 'wk', host: api.url, httpClient })

    analytics.track({ userId: 'u', event: 'Commande passée' })
    await analytics.flush()
    analytics.track({ userId: 'u', event: 'Commande payée' })
    await analytics.closeAndFlush()

    expect(connections).toEqual(['keep-alive', 'close'])
  },
)

import { createRequire } from 'node:module'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { runtime } from '../support/runtimes.ts'
import { runOn } from './run.ts'

/**
 * The versions of undici from npm, and the first version of Node.js on which each runs. A program may set a
 * dispatcher from any of them.
 */
const UNDICIS: Record<string, { readonly path: () => string; readonly since: number }> = {
  'undici 5': { path: () => runtime('undici-5'), since: 18 },
  'undici 6': { path: () => createRequire(import.meta.url).resolve('undici'), since: 18 },
  'undici 7': { path: () => runtime('undici-7'), since: 20 },
  'undici 8': { path: () => runtime('undici-8'), since: 22 },
}
/** `npm run test:runtimes -- --full` tests all combinations. */
const NODES = process.env['TEST_FULL'] === '1' ? [18, 20, 22, 24, 26] : [18, 22, 26]
const CASES = NODES.flatMap((node) =>
  Object.entries(UNDICIS)
    .filter(([, { since }]) => node >= since)
    .map(([undici, { path }]) => ({ node, undici, path })),
)

/**
 * Prints, for each kind of dispatcher, whether one event was delivered, the statuses that listeners got, and the status of the
 * same request by `fetch`: Node.js 26 ignores dispatchers of undici 5 and 6, and undici 8 hides the text of a body of Node.js 22
 * from a mock.
 */
const PROGRAM = `
const undici = require(process.env.UNDICI)
const { Analytics } = require('trackpost')
const { interceptors = {} } = undici
const compose = (name, options) => () => new undici.Agent().compose(interceptors[name](options))
const kinds = {
  agent: () => new undici.Agent(),
  proxy: () => new undici.ProxyAgent(process.env.API),
  mock() {
    const agent = new undici.MockAgent()
    agent.disableNetConnect()
    const body = (text) => typeof text === 'string' && text.includes('Commande passée')
    const request = { path: '/mock/v1/batch', method: 'POST', body }
    agent.get('http://tracking.invalid').intercept(request).reply(202, '{}').persist()
    return agent
  },
  ...(interceptors.retry && { retrying: compose('retry') }),
}
// Version 5 has an option in place of the interceptor.
kinds.redirect = interceptors.redirect
  ? compose('redirect', { maxRedirections: 5 })
  : () => new undici.Agent({ maxRedirections: 5 })
async function run() {
  const results = {}
  for (const [kind, create] of Object.entries(kinds)) {
    undici.setGlobalDispatcher(create())
    const host = (/mock|proxy/.test(kind) ? 'http://tracking.invalid' : process.env.API) + '/' + kind
    const analytics = new Analytics({ writeKey: 'wk', host, maxRetries: 0 })
    const statuses = []
    analytics.on('http_response', ({ status }) => statuses.push(status))
    analytics.on('error', () => {})
    analytics.track({ userId: 'u', event: 'Commande passée' })
    const { delivered } = await analytics.closeAndFlush({ timeout: 10000 })
    const request = { method: 'POST', body: '{"event":"Commande passée"}', redirect: 'manual' }
    const fetched = await fetch(host + '/v1/batch', request).then(({ status }) => status, () => undefined)
    results[kind] = { delivered, statuses, fetched }
  }
  console.log(JSON.stringify(results))
  process.exit()
}
run()
`

const ENVIRONMENT = `
import { Analytics } from 'trackpost'
const analytics = new Analytics({ writeKey: 'wk', host: 'http://tracking.invalid/environment', maxRetries: 0 })
analytics.track({ userId: 'u', event: 'Commande passée' })
console.log(JSON.stringify(await analytics.closeAndFlush({ timeout: 5000 })))
process.exit()
`

let project: Project
let api: Loopback
/** The target of the redirects. No request may arrive there. */
let elsewhere: Loopback
/** The paths of the requests that arrived, also through the proxy. */
const arrived: string[] = []

beforeAll(async () => {
  project = await createProject()
  await project.write('dispatchers.cjs', PROGRAM)
  await project.write('environment.mjs', ENVIRONMENT)
  elsewhere = await listen((request, response) => {
    arrived.push(`elsewhere: ${request.method} ${request.url}`)
    request.resume().on('end', () => response.end('{}'))
  })
  api = await listen((request, response) => {
    // A request through a proxy without a tunnel has the whole URL in place of the path.
    const { pathname } = new URL(request.url ?? '', 'http://direct.invalid')
    arrived.push(pathname)
    if (pathname.startsWith('/redirect/')) response.writeHead(307, { Location: `${elsewhere.url}/stolen` })
    request.resume().on('end', () => response.end('{}'))
  })
  api.server.on('connect', (_request, client) => {
    const upstream = connect((api.server.address() as AddressInfo).port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      client.pipe(upstream).pipe(client)
    })
    for (const socket of [client, upstream]) socket.on('error', () => socket.destroy())
  })
}, 300_000)
afterAll(async () => {
  await Promise.all([project?.remove(), api?.close(), elsewhere?.close()])
})

test.each(CASES)(
  'on Node.js $node events go where the dispatchers of $undici send what is fetched',
  async ({ node, undici, path }) => {
    arrived.length = 0

    const env = { API: api.url, UNDICI: path() }
    const results = (await runOn(`node-${node}`, project, 'dispatchers.cjs', env)) as Record<
      string,
      { delivered: number; statuses: number[]; fetched?: number }
    >

    const expected = Object.entries(results).map(([kind, { fetched }]) => {
      const isDelivered = fetched === 200 || fetched === 202
      const statuses = fetched === undefined ? [] : [fetched]
      return [kind, { delivered: Number(isDelivered), statuses, fetched }]
    })
    expect(results).toEqual(Object.fromEntries(expected))
    const isApplied = node < 26 || !['undici 5', 'undici 6'].includes(undici)
    const isTextHidden = node < 24 && undici === 'undici 8'
    expect(results).toMatchObject({
      agent: { fetched: 200 },
      redirect: { fetched: 307 },
      ...(isApplied && { proxy: { fetched: 200 } }),
      ...(isApplied && !isTextHidden && { mock: { fetched: 202 } }),
    })
    expect(arrived.filter((path) => path.startsWith('elsewhere'))).toEqual([])
  },
  120_000,
)

test.each([24, 26])('on Node.js %i the proxy of the environment is used', async (node) => {
  arrived.length = 0

  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: api.url }
  const summary = await runOn(`node-${node}`, project, 'environment.mjs', env)

  expect(summary).toEqual({ delivered: 1, failed: 0, pending: 0 })
  expect(arrived).toEqual(['/environment/v1/batch'])
})

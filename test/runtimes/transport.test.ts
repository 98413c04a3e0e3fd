import { createRequire } from 'node:module'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { runOn } from './run.ts'

const { resolve: resolvePackage } = createRequire(import.meta.url)

/**
 * Each program sends events through clients with default settings. For each client it prints the transport and the
 * statuses of the responses.
 */
const COMMON = `
const http = require('node:http')
const { Analytics } = require('trackpost')
const API = process.env.API
const { request } = http
let overHTTP = 0
http.request = (...args) => (overHTTP++, request(...args))
const isUndiciLoaded = () => globalThis[Symbol.for('undici.globalDispatcher.1')] !== undefined
const log = {}
async function send(name, host = API) {
  overHTTP = 0
  const analytics = new Analytics({ writeKey: 'wk', host: host + '/' + name, maxRetries: 0 })
  const results = []
  analytics.on('http_response', ({ status }) => results.push(status))
  analytics.on('error', ({ reason }) => results.push(reason.message))
  analytics.track({ userId: 'u', event: 'Commande passée' })
  await analytics.closeAndFlush({ timeout: 10000 })
  log[name] = [overHTTP > 0 ? 'node:http' : 'fetch', ...results]
}
`
const PROGRAMS = {
  'fetch.cjs': `
async function run() {
  await send('untouched')
  if (typeof fetch === 'function') {
    const original = fetch
    globalThis.fetch = async () => ({ status: 299, statusText: 'Replaced' })
    await send('replaced')
    globalThis.fetch = original
    await send('restored')
  }
  log.isUndiciLoaded = isUndiciLoaded()
  if (typeof fetch === 'function') {
    await (await fetch(API + '/own')).text()
    log.isUndiciLoadedByFetch = isUndiciLoaded()
    await send('used')
  }
  console.log(JSON.stringify(log))
}
run()`,
  'mocked.cjs': `
async function run() {
  const msw = await import(process.env.MSW)
  const { setupServer } = await import(process.env.MSW_NODE)
  const { default: nock } = await import(process.env.NOCK)
  const server = setupServer(msw.http.post('http://msw.invalid/msw/v1/batch', () => msw.HttpResponse.json({}, { status: 202 })))
  server.listen()
  await send('msw', 'http://msw.invalid')
  server.close()
  nock('http://nock.invalid').post('/nock/v1/batch', ({ batch }) => batch[0].event === 'Commande passée').reply(203, '{}')
  await send('nock', 'http://nock.invalid')
  nock.restore()
  await send('unmocked')
  console.log(JSON.stringify(log))
}
run()`,
}

let project: Project
let api: Loopback
let arrived: (string | undefined)[]

beforeAll(async () => {
  project = await createProject()
  for (const [name, text] of Object.entries(PROGRAMS)) await project.write(name, COMMON + text)
  api = await listen((request, response) => {
    arrived.push(request.url)
    request.resume().on('end', () => response.end('{}'))
  })
}, 300_000)
afterAll(async () => {
  await Promise.all([project?.remove(), api?.close()])
})
beforeEach(() => {
  arrived = []
})

test('on Node.js 16 events are sent over node:http', async () => {
  const log = await runOn('node-16', project, 'fetch.cjs', { API: api.url })

  expect(log).toEqual({ untouched: ['node:http', 200], isUndiciLoaded: false })
  expect(arrived).toEqual(['/untouched/v1/batch'])
})

test.each([18, 20, 22, 24, 26])(
  'on Node.js %i events are sent over node:http, also when fetch has been used, unless the program replaces fetch',
  async (node) => {
    expect(await runOn(`node-${node}`, project, 'fetch.cjs', { API: api.url })).toEqual({
      untouched: ['node:http', 200],
      replaced: ['fetch', 299],
      restored: ['node:http', 200],
      isUndiciLoaded: false,
      isUndiciLoadedByFetch: true,
      used: ['node:http', 200],
    })
    expect(arrived).toEqual(['/untouched/v1/batch', '/restored/v1/batch', '/own', '/used/v1/batch'])
  },
)

test.each([18, 20, 22, 24, 26])('on Node.js %i msw and nock intercept the requests', async (node) => {
  const packages = {
    MSW: resolvePackage('msw'),
    MSW_NODE: resolvePackage('msw/node'),
    NOCK: resolvePackage('nock'),
  }
  const log = await runOn(`node-${node}`, project, 'mocked.cjs', { API: api.url, ...packages })

  const { msw, nock, unmocked } = log as Record<string, unknown[]>
  expect([msw?.[1], nock?.[1], unmocked?.[1]]).toEqual([202, 203, 200])
  expect(arrived).toEqual(['/unmocked/v1/batch'])
})

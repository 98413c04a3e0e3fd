import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { runtime } from '../support/runtimes.ts'

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
  'growing.cjs': `
async function run() {
  await send('untouched')
  log.isUndiciLoaded = isUndiciLoaded()
  if (typeof fetch === 'function') {
    const original = fetch
    globalThis.fetch = async () => ({ status: 299, statusText: 'Replaced' })
    await send('replaced')
    globalThis.fetch = original
    await send('restored')
    log.isUndiciLoadedByFetch = isUndiciLoaded()
  }
  console.log(JSON.stringify(log))
}
run()`,
  'used.cjs': `
async function run() {
  await (await fetch(API + '/own')).text()
  log.isUndiciLoaded = isUndiciLoaded()
  await send('used')
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
const arrived: (string | undefined)[] = []

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

function run(node: number, file: keyof typeof PROGRAMS): Promise<unknown> {
  arrived.length = 0
  return new Promise((resolve, reject) => {
    const packages = {
      MSW: resolvePackage('msw'),
      MSW_NODE: resolvePackage('msw/node'),
      NOCK: resolvePackage('nock'),
    }
    const env = { PATH: '/usr/bin:/bin', API: api.url, NODE_NO_WARNINGS: '1', ...packages }
    execFile(runtime(`node-${node}`), [join(project.folder, file)], { env }, (error, stdout, stderr) => {
      if (error !== null || stderr !== '') reject(new Error(`${error?.message}\n${stderr}`))
      else resolve(JSON.parse(stdout))
    })
  })
}

test('on Node.js 16 events are sent over node:http', async () => {
  expect(await run(16, 'growing.cjs')).toEqual({ untouched: ['node:http', 200], isUndiciLoaded: false })
  expect(arrived).toEqual(['/untouched/v1/batch'])
})

test.each([18, 20, 22, 24, 26])(
  'on Node.js %i events are sent over node:http, unless the program replaces fetch',
  async (node) => {
    expect(await run(node, 'growing.cjs')).toEqual({
      untouched: ['node:http', 200],
      isUndiciLoaded: false,
      replaced: ['fetch', 299],
      restored: ['node:http', 200],
      isUndiciLoadedByFetch: false,
    })
    expect(arrived).toEqual(['/untouched/v1/batch', '/restored/v1/batch'])
  },
)

test.each([18, 20, 22, 24, 26])(
  'on Node.js %i events are sent over node:http also when fetch has been used',
  async (node) => {
    expect(await run(node, 'used.cjs')).toEqual({ isUndiciLoaded: true, used: ['node:http', 200] })
    expect(arrived).toEqual(['/own', '/used/v1/batch'])
  },
)

test.each([18, 20, 22, 24, 26])('on Node.js %i msw and nock intercept the requests', async (node) => {
  const { msw, nock, unmocked } = (await run(node, 'mocked.cjs')) as Record<string, unknown[]>

  expect([msw?.[1], nock?.[1], unmocked?.[1]]).toEqual([202, 203, 200])
  expect(arrived).toEqual(['/unmocked/v1/batch'])
})

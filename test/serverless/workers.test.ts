import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import type { Loopback } from '../support/loopback.ts'
import { findRuntime, runtime } from '../support/runtimes.ts'
import { startService } from '../support/service.ts'
import { CLIENT_PEM } from '../support/token-server.ts'
import { bundleWorker, COMPATIBILITY_DATE, startWorker, type Worker } from '../support/workerd.ts'

// The Worker (workers.mjs) has a client for each request (docs/spec.md, section 8.1).

const FORMS = ['callback', 'promise', 'flush', 'waitUntil', 'beside', 'ownClient'] as const
const LIMIT_MS = 60_000

type Form = (typeof FORMS)[number] | 'nothing' | 'scope' | 'keep' | 'kept' | 'console'
interface Call {
  readonly form: Form
  readonly id: string
}
/** The response to a request: a status, or a promise of one. `reset` closes the connection without a response. */
type Reply = (id: string, attempt: number) => number | 'reset' | Promise<number>

const DELIVERED: Partial<Record<Form, string>> = {
  callback: 'delivered',
  promise: 'delivered',
  flush: '1/0/0',
  waitUntil: 'handed over',
  beside: 'handed over',
  ownClient: 'delivered',
}

let lastId = 0
const create = (form: Form): Call => ({ form, id: String(++lastId) })
const createCalls = (count: number): Call[] =>
  FORMS.flatMap((form) => Array.from({ length: count }, () => create(form)))
const expected = (calls: readonly Call[]): string[] => calls.map(({ form }) => `200 ${DELIVERED[form]}`)

const once =
  (failure: number | 'reset'): Reply =>
  (_, attempt) =>
    attempt === 1 ? failure : 200

const NEWEST = '2026-11-17'
const OAUTH = { CLIENT_KEY: CLIENT_PEM }
const CONFIGURATIONS = [
  ['of 2024', '2024-01-01', [], {}],
  ['of 2024 with nodejs_compat, OAuth, gzip and plugins', '2024-01-01', ['nodejs_compat'], OAUTH],
  ['without nodejs_compat, with OAuth, gzip and plugins', COMPATIBILITY_DATE, [], OAUTH],
  ['with nodejs_compat', COMPATIBILITY_DATE, ['nodejs_compat'], {}],
  ['of the newest date', NEWEST, [], {}],
  ['of the newest date without nodejs_compat', NEWEST, ['no_nodejs_compat'], {}],
] as const

let project: Project
let api: Loopback
let reply: Reply
let token: () => number | Promise<number>
let tokens = 0
const delivered = new Map<string, number>()
const arrived = new Map<string, number>()

beforeAll(async () => {
  project = await createProject()
  await project.add('test/serverless/workers.mjs')
  await bundleWorker(join(project.folder, 'workers.mjs'), join(project.folder, 'bundle.mjs'), [
    'cloudflare:*',
    'node:*',
  ])
  api = await startService(async ({ path, batch }, response) => {
    if (path.startsWith('/auth')) {
      response.writeHead(await token(), { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ access_token: `token-${++tokens}`, expires_in: 3_600 }))
      return 'open'
    }
    const ids = batch.map(({ messageId }) => messageId.slice('message-'.length))
    for (const id of ids) arrived.set(id, (arrived.get(id) ?? 0) + 1)
    const [id = ''] = ids
    const status = await reply(id, arrived.get(id) ?? 0)
    if (status === 'reset') response.destroy()
    if (status === 200) for (const id of ids) delivered.set(id, (delivered.get(id) ?? 0) + 1)
    if (status === 429) response.setHeader('Retry-After', '1')
    return status === 'reset' ? 'open' : status
  })
})
afterAll(async () => {
  await api?.close()
  await project?.remove()
})

beforeEach(() => {
  reply = () => 200
  token = () => 200
})

describe.each(CONFIGURATIONS)('the Worker %s', (_, date, flags, bindings) => {
  let worker: Worker | undefined
  const hasOAuth = 'CLIENT_KEY' in bindings

  beforeEach(async () => {
    const binary = findRuntime('workerd')
    if (binary === undefined) return
    const given = { TRACKPOST_WRITE_KEY: 'wk_Serverless_7', TRACKPOST_HOST: api.url, ...bindings }
    worker = await startWorker(binary, project.folder, 'bundle.mjs', flags, given, date)
  })
  afterEach(() => worker?.stop())

  async function call({ form, id }: Call, signal = AbortSignal.timeout(LIMIT_MS)): Promise<string> {
    runtime('workerd')
    const response = await fetch(`${worker?.url}/${form}?id=${id}`, { signal })
    return `${response.status} ${await response.text()}`
  }

  const callAll = (calls: readonly Call[]): Promise<string[]> => Promise.all(calls.map((one) => call(one)))

  async function untilDelivered(calls: readonly Call[]): Promise<void> {
    await vi.waitFor(() => expect(calls.filter(({ id }) => delivered.get(id) !== 1)).toEqual([]), {
      timeout: LIMIT_MS,
      interval: 20,
    })
  }

  test.each<[string, () => Reply]>([
    ['takes everything', () => once(200)],
    ['fails the first time with 503', () => once(503)],
    ['limits the rate of the first time', () => once(429)],
    ['breaks the first connection', () => once('reset')],
    ...(hasOAuth ? [['refuses the first token', () => once(401)] as [string, () => Reply]] : []),
  ])('delivers each event once while the service %s', async (_, createReply) => {
    reply = createReply()
    const calls = createCalls(4)

    expect(await callAll(calls)).toEqual(expected(calls))

    await untilDelivered(calls)
    expect(worker?.log()).not.toMatch(/hung|Uncaught|failed to load|different request/)
  })

  test('sends the requests side by side: all end, even if the service responds only after every event has arrived', async () => {
    const calls = createCalls(3)
    const missing = new Set(calls.map(({ id }) => id))
    let open = (): void => {}
    const isComplete = new Promise<void>((resolve) => {
      open = resolve
    })
    reply = async (id) => {
      missing.delete(id)
      if (missing.size === 0) open()
      await isComplete
      return 200
    }

    expect(await callAll(calls)).toEqual(expected(calls))

    await untilDelivered(calls)
  })

  test('goes on beside requests that end without their events, and that their visitors cancel', async () => {
    const gone = [create('flush'), create('callback'), create('promise')]
    let answer = (_: number): void => {}
    const late = new Promise<number>((resolve) => {
      answer = resolve
    })
    reply = (id) => (gone.some((one) => one.id === id) ? late : 200)
    const visitor = new AbortController()
    const broken = gone.map((one) => call(one, visitor.signal).catch(({ name }: Error) => name))
    await vi.waitUntil(() => gone.every(({ id }) => arrived.has(id)), { timeout: LIMIT_MS, interval: 5 })
    expect(await call(create('nothing'))).toBe('200 forgotten')
    const [beside, after] = [createCalls(1), createCalls(1)]

    expect(await callAll(beside)).toEqual(expected(beside))
    visitor.abort()
    expect(await Promise.all(broken)).toEqual(Array(3).fill('AbortError'))
    expect(await callAll(after)).toEqual(expected(after))
    // workerd may keep a cancelled request alive as long as it waits for this response.
    answer(200)
  })

  test('uses one access token for requests one after the other', async () => {
    const before = tokens
    for (let request = 0; request < 5; request++) expect(await call(create('callback'))).toBe('200 delivered')

    expect(tokens - before).toBe(hasOAuth ? 1 : 0)
  })

  test('refuses a client at module scope, and names perRequest', async () => {
    expect(await call(create('scope'))).toMatch(
      /^200 SettingsError: settings: on Cloudflare Workers, a client belongs to the request .* perRequest\(settings\) of 'trackpost\/workers'/,
    )
  })

  test('refuses calls of a client that another request has kept', async () => {
    await call(create('keep'))

    const text = await call(create('kept'))

    const { during, errors, summaries, ...counts } = JSON.parse(text.slice(4))
    const sentence = expect.stringContaining("perRequest(settings) of 'trackpost/workers'")
    expect(during).toBe(0)
    expect(errors).toEqual([expect.stringMatching(/^invalid: on Cloudflare Workers/), sentence, sentence])
    expect(summaries).toEqual(Array(2).fill({ delivered: 0, failed: 0, pending: 0 }))
    expect(counts).toEqual({ accepted: 2, failed: 2, pending: 0, own: 'delivered' })
  })

  test('counts each event once when the console runs microtasks inside of a call', async () => {
    const text = await call(create('console'))

    expect(JSON.parse(text.slice(4))).toEqual({
      during: 0,
      outcomes: ['delivered', 'delivered', 'invalid'],
      accepted: 3,
      delivered: 2,
      failed: 1,
      pending: 0,
    })
  })
})

test('1,200 requests at once lose nothing that is awaited or handed over', async () => {
  const given = { TRACKPOST_WRITE_KEY: 'wk_Serverless_7', TRACKPOST_HOST: api.url }
  const worker = await startWorker(runtime('workerd'), project.folder, 'bundle.mjs', [], given)
  try {
    const calls = Array.from({ length: 1_200 }, (_, index) =>
      create(index % 2 === 0 ? 'callback' : 'waitUntil'),
    )

    const responses = await Promise.all(
      calls.map(async ({ form, id }) => {
        const response = await fetch(`${worker.url}/${form}?id=${id}`)
        return `${response.status} ${await response.text()}`
      }),
    )

    expect(responses).toEqual(expected(calls))
    await vi.waitFor(() => expect(calls.filter(({ id }) => delivered.get(id) !== 1)).toEqual([]), {
      timeout: LIMIT_MS,
      interval: 50,
    })
  } finally {
    worker.stop()
  }
})

import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { findRuntime } from '../../scripts/fetch-runtimes.mjs'
import { createProject, type Project } from '../package/project.ts'
import { type Loopback, listen } from '../support/loopback.ts'
import { runtime } from '../support/runtimes.ts'
import { CLIENT_PEM } from '../support/token-server.ts'
import { bundleWorker, startWorker, type Worker } from '../support/workerd.ts'

// The Worker (workers.mjs) has its clients at module scope. It gets many concurrent requests, which wait for their
// events in different ways (`FORMS`), while the service fails and requests end early (docs/spec.md, section 6).

const FORMS = ['callback', 'promise', 'flush', 'waitUntil', 'nothing'] as const
const LIMIT_MS = 20_000

type Form = (typeof FORMS)[number] | 'ownClient'
interface Call {
  readonly form: Form
  readonly id: string
  /** The Worker responds without waiting for the event. */
  readonly isEarly: boolean
}
/**
 * The service's response to a request with this event: a status, or a promise of one. `reset` closes the connection
 * without a response.
 */
type Reply = (id: string, attempt: number) => number | 'reset' | Promise<number>

const DELIVERED = {
  callback: 'delivered',
  ownClient: 'delivered',
  promise: 'delivered',
  flush: '1/0/0',
  waitUntil: 'handed over',
  nothing: 'forgotten',
}
const EXHAUSTED = {
  ...DELIVERED,
  callback: 'retries_exhausted',
  promise: 'retries_exhausted',
  flush: '0/1/0',
}

let lastId = 0
const create = (form: Form, isEarly = false): Call => ({ form, isEarly, id: String(++lastId) })
/** Four calls of each form. In each form, the request of the fourth call ends early. */
const createCalls = (): Call[] =>
  FORMS.flatMap((form) => [1, 2, 3, 4].map((number) => create(form, number === 4)))
const isSent = ({ form, isEarly }: Call): boolean => form === 'waitUntil' || (form !== 'nothing' && !isEarly)
const idsOf = (calls: readonly Call[]): string[] => calls.filter(isSent).map(({ id }) => id)

const once =
  (failure: number | 'reset'): Reply =>
  (_, attempt) =>
    attempt === 1 ? failure : 200

const CONFIGURATIONS = [
  ['without nodejs_compat', [], {}],
  ['with nodejs_compat', ['nodejs_compat'], {}],
  ['without nodejs_compat, with OAuth, gzip and plugins', [], { CLIENT_KEY: CLIENT_PEM }],
  ['with nodejs_compat, OAuth, gzip and plugins', ['nodejs_compat'], { CLIENT_KEY: CLIENT_PEM }],
] as const

let project: Project
let api: Loopback
let reply: Reply
let token: () => number | Promise<number>
let tokens: number
/** Resolves when a token is requested. */
let isAsked: Promise<void>
let onAsked = (): void => {}
const delivered = new Set<string>()
const arrived = new Map<string, number>()

beforeAll(async () => {
  project = await createProject()
  await project.add('test/serverless/workers.mjs')
  api = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    if (request.url === '/asked') {
      await isAsked
      response.end()
      return
    }
    if (request.url?.startsWith('/auth')) {
      onAsked()
      response.writeHead(await token(), { 'Content-Type': 'application/json' })
      response.end(JSON.stringify({ access_token: `token-${++tokens}`, expires_in: 3_600 }))
      return
    }
    const text = request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
    await respond(JSON.parse(text.toString()), response)
  })
})
afterAll(async () => {
  await api?.close()
  await project?.remove()
})

async function respond(
  { batch }: { batch: { messageId: string }[] },
  response: ServerResponse,
): Promise<void> {
  const ids = batch.map(({ messageId }) => messageId.slice('message-'.length))
  for (const id of ids) arrived.set(id, (arrived.get(id) ?? 0) + 1)
  const [id = ''] = ids
  const status = await reply(id, arrived.get(id) ?? 0)
  if (status === 'reset') {
    response.destroy()
    return
  }
  if (status === 200) for (const id of ids) delivered.add(id)
  response.writeHead(status, status === 429 ? { 'Retry-After': '1' } : {}).end('{}')
}

describe.each(CONFIGURATIONS)('the Worker in workerd %s', (name, flags, bindings) => {
  let worker: Worker | undefined
  const hasOAuth = 'CLIENT_KEY' in bindings
  /** All calls so far that used the Worker's client without the setting `waitUntil`. */
  const taken: Call[] = []
  let exhausted = 0

  beforeAll(async () => {
    reply = () => 200
    token = () => 200
    tokens = 0
    const binary = findRuntime('workerd')
    if (binary === undefined) return
    const bundle = `workers-${name.replace(/\W+/g, '-')}.mjs`
    const external = flags.length > 0 ? ['cloudflare:*', 'node:*'] : undefined
    await bundleWorker(join(project.folder, 'workers.mjs'), join(project.folder, bundle), external)
    const given = { TRACKPOST_WRITE_KEY: 'wk_Serverless_7', TRACKPOST_HOST: api.url, ...bindings }
    worker = await startWorker(binary, project.folder, bundle, flags, given)
  })
  afterAll(() => worker?.stop())

  function call({ form, id, isEarly }: Call, signal?: AbortSignal, how = ''): Promise<string> {
    runtime('workerd')
    const url = `${worker?.url}/${form}?id=${id}${isEarly ? `&early=${how}` : ''}`
    return fetch(url, { signal: signal ?? AbortSignal.timeout(LIMIT_MS) }).then(
      async (response) => `${response.status} ${await response.text()}`,
    )
  }

  async function callAll(calls: readonly Call[], how?: string): Promise<string[]> {
    taken.push(...calls.filter(({ form }) => form !== 'waitUntil' && form !== 'ownClient'))
    return Promise.all(calls.map((one) => call(one, undefined, how)))
  }

  const expected = (calls: readonly Call[], outcomes = DELIVERED): string[] =>
    calls.map(({ form, isEarly }) => `200 ${isEarly ? 'early' : outcomes[form]}`)

  async function readStats(): Promise<
    {
      told?: number
      accepted: number
      delivered: number
      pending: number
      failures: Record<string, number>
    }[]
  > {
    return (await fetch(`${worker?.url}/stats`)).json() as ReturnType<typeof readStats>
  }

  async function untilHandedOver(): Promise<void> {
    await vi.waitUntil(async () => (await readStats())[1]?.pending === 0, { timeout: LIMIT_MS, interval: 20 })
  }

  /** Checks that the next request works normally: its flush waits only for its own event. */
  async function expectNext(): Promise<void> {
    reply = () => 200
    const next = [create('flush')]
    expect(await callAll(next)).toEqual(expected(next))
  }

  test(
    'requests that end early (with OAuth, before the first token) do not affect other requests',
    async () => {
      const calls = FORMS.flatMap((form) => [create(form), create(form)])
      const early = FORMS.filter((form) => form !== 'waitUntil').map((form) => create(form, true))
      const never = new Promise<number>(() => {})
      token = () => never

      isAsked = new Promise((resolve) => {
        onAsked = resolve
      })
      if (!hasOAuth) onAsked()
      expect(await callAll(early, 'asked')).toEqual(expected(early))
      let asked = 0
      token = () => (++asked <= 3 ? 503 : 200)
      expect(await callAll(calls)).toEqual(expected(calls))

      await untilHandedOver()
      expect(idsOf(calls).filter((id) => !delivered.has(id))).toEqual([])
      expect(tokens > 0).toBe(hasOAuth)
    },
    LIMIT_MS,
  )

  test.each<[number, Form, string]>([
    [100, 'callback', 'each waiting for a callback'],
    [20, 'ownClient', 'each with a client of its own whose interval never ends'],
  ])(
    '%i concurrent requests (%s), %s, all get their callback',
    async (count, form) => {
      const calls = Array.from({ length: count }, () => create(form))

      expect(await callAll(calls)).toEqual(expected(calls))

      expect(calls.filter(({ id }) => !delivered.has(id))).toEqual([])
      await expectNext()
    },
    LIMIT_MS,
  )

  test.each<[string, () => Reply]>([
    ['takes everything', () => once(200)],
    ['fails the first time with 503', () => once(503)],
    ['fails the first time with 429', () => once(429)],
    ['breaks the first connection', () => once('reset')],
    ...(hasOAuth ? [['refuses the first token', () => once(401)] as [string, () => Reply]] : []),
  ])(
    'while the service %s, each request gets its outcome, and events with waitUntil are delivered',
    async (_, createReply) => {
      reply = createReply()
      const calls = createCalls()

      expect(await callAll(calls)).toEqual(expected(calls))
      await untilHandedOver()

      expect(idsOf(calls).filter((id) => !delivered.has(id))).toEqual([])
      await expectNext()
    },
    LIMIT_MS,
  )

  test(
    'requests are sent concurrently: all end, even if the service responds only after every event has arrived',
    async () => {
      const calls = createCalls()
      const missing = new Set(idsOf(calls))
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

      await untilHandedOver()
      await expectNext()
    },
    LIMIT_MS,
  )

  test.each<[string, number | 'reset']>([
    ['503', 503],
    ['broken connections', 'reset'],
  ])(
    'while every attempt fails (%s), each request that waits for its event gets the failure',
    async (_, failure) => {
      reply = () => failure
      const calls = createCalls()

      expect(await callAll(calls)).toEqual(expected(calls, EXHAUSTED))

      exhausted += calls.filter(({ form, isEarly }) => /callback|promise|flush/.test(form) && !isEarly).length
      await untilHandedOver()
      await expectNext()
    },
    LIMIT_MS,
  )

  test(
    'a flush does not wait for events of requests that the visitor has cancelled',
    async () => {
      const gone = [create('flush'), create('callback'), create('promise')]
      taken.push(...gone)
      let answer = (_: number): void => {}
      const late = new Promise<number>((resolve) => {
        answer = resolve
      })
      reply = (id) => (gone.some((one) => one.id === id) ? late : 200)
      const visitor = new AbortController()
      const broken = gone.map((one) => call(one, visitor.signal).catch(({ name }: Error) => name))
      await vi.waitUntil(() => gone.every(({ id }) => arrived.has(id)), { timeout: LIMIT_MS, interval: 5 })
      const [beside, after] = [[create('flush')], [create('flush')]]

      expect(await callAll(beside)).toEqual(expected(beside))
      visitor.abort()
      expect(await Promise.all(broken)).toEqual(Array(3).fill('AbortError'))
      expect(await callAll(after)).toEqual(expected(after))
      // workerd may keep a cancelled request alive as long as it waits for this response.
      answer(200)
    },
    LIMIT_MS,
  )

  test(
    'finally every event has its outcome, and only events of requests that ended early were given up',
    async () => {
      runtime('workerd')
      await vi.waitUntil(
        async () => {
          await expectNext()
          return (await readStats())[0]?.pending === 0
        },
        { timeout: LIMIT_MS, interval: 50 },
      )

      const [stats, handedOver] = await readStats()
      const { accepted = 0, delivered: arrivals = 0, failures = {} } = stats ?? {}
      const { shutdown_timeout: ended = 0, retries_exhausted: refused, ...others } = failures
      expect(accepted).toBe(taken.length)
      expect(arrivals + ended + exhausted).toBe(taken.length)
      expect(refused).toBe(exhausted)
      expect(ended).toBeGreaterThan(0)
      expect(arrivals).toBeGreaterThanOrEqual(taken.filter(isSent).length - exhausted - 3)
      expect(Object.values(others).filter((count) => count > 0)).toEqual([])
      expect(stats?.told).toBe(taken.filter(({ form }) => form === 'callback').length)
      expect(handedOver?.failures).toMatchObject({ shutdown_timeout: 0 })
      expect(worker?.log()).not.toMatch(/hung|Uncaught|failed to load/)
    },
    LIMIT_MS,
  )
})

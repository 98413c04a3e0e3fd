import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { createProject, type Project } from '../package/project.ts'
import type { Loopback } from '../support/loopback.ts'
import { findRuntime, runtime, skip } from '../support/runtimes.ts'
import { startService } from '../support/service.ts'
import { bundleWorker, startWorker } from '../support/workerd.ts'

const WRITE_KEY = 'wk_Serverless_7'
const TOTAL = 1_000

interface Message {
  readonly userId?: string
  readonly context?: { readonly ip?: string; readonly userAgent?: string; readonly page?: object }
  readonly messageId: string
  readonly type: string
  readonly event?: string
  readonly properties?: { readonly orderId?: string }
}

let project: Project
let api: Loopback
let messages: Message[]
let requests: number
/** The API delays its responses until this promise resolves. */
let mayRespond: Promise<void>

beforeAll(async () => {
  project = await createProject()
  const modules = ['examples/serverless/aws-lambda.mjs', 'examples/serverless/cloudflare-worker.mjs']
  const others = [
    'examples/serverless/vercel-route.mjs',
    'test/serverless/platform.mjs',
    'test/serverless/scoped-worker.mjs',
  ]
  for (const path of [...modules, ...others]) await project.add(path)
  const source = findRuntime('vercel-functions')
  if (source === undefined) return
  const vercel = join(project.folder, 'node_modules/@vercel/functions')
  await mkdir(dirname(vercel), { recursive: true })
  await cp(dirname(source), vercel, { recursive: true })
}, 120_000)

afterAll(() => project?.remove())

beforeEach(async () => {
  messages = []
  requests = 0
  mayRespond = Promise.resolve()
  api = await startService<Message>(async ({ batch }) => {
    requests++
    messages.push(...batch)
    await mayRespond
    return 200
  })
})
afterEach(() => api.close())

function hold(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((release) => {
    resolve = release
  })
  return { promise, resolve }
}

interface Outcome {
  readonly answer: { readonly statusCode: number; readonly body: string }
  readonly isAnsweredFirst: boolean
}

/** A handler that runs in its own process, on the simulated platform of platform.mjs. */
class Deployed {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>
  readonly #exit: Promise<NodeJS.Signals | null>

  constructor(module: string, node: string) {
    if (process.platform !== 'linux') skip('the state of a process is read from /proc')
    if (module === 'vercel-route.mjs') runtime('vercel-functions')
    this.#child = spawn(node, ['platform.mjs'], {
      cwd: project.folder,
      env: { MODULE: join(project.folder, module), TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: api.url },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#exit = new Promise((resolve) => this.#child.on('exit', (_, signal) => resolve(signal)))
  }

  /**
   * Runs one invocation. When the promise resolves, the process is frozen (SIGSTOP) or dead (SIGKILL). `onAnswer` is
   * called after the handler's response, before the promises that were passed to `waitUntil` settle.
   */
  async invoke(orderId: string, stopBy: 'SIGSTOP' | 'SIGKILL', onAnswer = () => {}): Promise<Outcome> {
    const order = { orderId, userId: 'usr_Zoë', total: 12.5 }
    this.#child.stdin.write(`${JSON.stringify({ order, stopBy })}\n`)
    const first = await this.#lines.next()
    onAnswer()
    const { value } = await this.#lines.next()
    if (stopBy === 'SIGKILL') expect(await this.#exit).toBe('SIGKILL')
    else while (this.#state() !== 'T') await new Promise((resolve) => setImmediate(resolve))
    return { ...JSON.parse(first.value ?? 'null'), ...JSON.parse(value ?? 'null') }
  }

  thaw(): void {
    this.#child.kill('SIGCONT')
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** The state of the process in one letter, as in /proc. `T` means stopped by a signal. */
  #state(): string | undefined {
    return /\) (\w)/.exec(readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8'))?.[1]
  }
}

/**
 * Invokes a handler `count` times. The process is frozen after each invocation, and killed after the last one.
 *
 * @returns For each invocation, the number of events that arrived before it ended.
 */
async function run(module: string, count: number, node = process.execPath): Promise<number[]> {
  const deployed = new Deployed(module, node)
  const arrived: number[] = []
  try {
    for (let number = 1; number <= count; number++) {
      const before = messages.length
      const orderId = `order-${module}-${number}`
      const { answer } = await deployed.invoke(orderId, number < count ? 'SIGSTOP' : 'SIGKILL')
      expect(answer).toEqual({ statusCode: 200, body: JSON.stringify({ orderId }) })
      arrived.push(messages.length - before)
      deployed.thaw()
    }
  } finally {
    deployed.kill()
  }
  return arrived
}

describe.each([
  ['await analytics.flush()', 'aws-lambda.mjs'],
  ['waitUntil', 'vercel-route.mjs'],
])('with %s', (_, module) => {
  test(`${TOTAL} invocations, each frozen as soon as it has ended, deliver ${3 * TOTAL} events`, async () => {
    const arrived = await run(module, TOTAL)

    expect(arrived.filter((count) => count !== 3)).toEqual([])
    expect(messages).toHaveLength(3 * TOTAL)
    expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(3 * TOTAL)
    expect(requests).toBe(TOTAL)
  })

  test('F86: a process that is killed as soon as an invocation has ended has delivered its events', async () => {
    for (let process = 0; process < 20; process++) expect(await run(module, 2)).toEqual([3, 3])

    expect(messages).toHaveLength(120)
  })
})

test.each(['node-18', 'node-22', 'node-24'])('on %s the Lambda handler delivers in order', async (name) => {
  expect(await run('aws-lambda.mjs', 3, runtime(name))).toEqual([3, 3, 3])

  const types = messages.slice(0, 3).map(({ type, event }) => event ?? type)
  expect(types).toEqual(['identify', 'Order Completed', 'Receipt Sent'])
})

test.each(['node-20', 'node-22'])(
  'the route of Next.js responds on %s before its events have arrived',
  async (name) => {
    const { promise, resolve } = hold()
    mayRespond = promise
    const deployed = new Deployed('vercel-route.mjs', runtime(name))

    const { answer, isAnsweredFirst } = await deployed.invoke('order-1', 'SIGKILL', resolve)

    expect(answer.statusCode).toBe(200)
    expect(isAnsweredFirst).toBe(true)
    expect(messages).toHaveLength(3)
  },
)

/** Bundles and starts a Worker, passes its URL to `use`, and returns its log. */
async function withWorker(
  name: string,
  flags: readonly string[],
  use: (url: string) => Promise<void>,
): Promise<string> {
  const [entry, bundle] = [join(project.folder, name), `${name}.bundle.mjs`]
  const external = flags.length > 0 ? ['cloudflare:*', 'node:*'] : undefined
  await bundleWorker(entry, join(project.folder, bundle), external)
  const bindings = { TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: api.url }
  const worker = await startWorker(runtime('workerd'), project.folder, bundle, flags, bindings)
  try {
    await use(worker.url)
  } finally {
    worker.stop()
  }
  return worker.log()
}

async function order(url: string, body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ userId: 'usr_Zoë', total: 12.5, ...body }),
    headers,
  })
  return response.text()
}

describe.each([
  ['without', []],
  ['with', ['nodejs_compat']],
])('the Worker in workerd %s nodejs_compat', (_, flags) => {
  test('responds before its events have arrived, and they arrive in one request', async () => {
    const { promise, resolve } = hold()
    mayRespond = promise

    const log = await withWorker('cloudflare-worker.mjs', flags, async (url) => {
      const responded = once(api.server, 'request').then(([, response]) => once(response, 'finish'))
      expect(await order(url, { orderId: 'order-7' })).toBe('{"orderId":"order-7"}')
      // The Worker has responded before the API has responded to any request.
      resolve()
      await responded
    })

    expect(messages.map(({ type }) => type)).toEqual(['identify', 'track', 'track'])
    expect(requests).toBe(1)
    expect(log).toBe('')
  })
})

test('on workerd, the scopes of requests do not mix, and listeners run in no scope', async () => {
  const users = ['usr_ada', 'usr_Zoe', 'usr_grace']
  const orders = Array.from({ length: 30 }, (_, number) => `${users[number % users.length]}/${number}`)

  let seen: [string, unknown][] = []
  await withWorker('scoped-worker.mjs', ['nodejs_compat'], async (url) => {
    await Promise.all(
      orders.map((orderId) => {
        const [userId = ''] = orderId.split('/')
        const headers = {
          'X-User-Id': userId,
          'CF-Connecting-IP': '10.0.0.7',
          'X-Forwarded-For': '2001:DB9::7, ::ffff:10.1.1.1',
        }
        return order(`${url}/orders?a=b`, { orderId }, headers)
      }),
    )
    await vi.waitUntil(() => messages.length >= 60, { timeout: 60_000, interval: 20 })
    await vi.waitUntil(
      async () => {
        seen = (await (await fetch(`${url}/seen`)).json()) as typeof seen
        return seen.length >= 90
      },
      { timeout: 60_000, interval: 20 },
    )
    for (const { userId, properties, context } of messages) {
      expect(userId).toBe(properties?.orderId?.split('/')[0])
      expect(context).toMatchObject({
        ip: '2001:db9::7',
        page: { url: `${url}/orders?a=b`, path: '/orders', search: '?a=b' },
      })
    }
  })

  expect(messages).toHaveLength(60)
  expect(seen.filter(([who]) => who === 'listener')).toEqual(Array(60).fill(['listener', null]))
  expect(seen.filter(([who]) => who === 'callback')).toEqual(Array(30).fill(['callback', true]))
})

import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { findRuntime } from '../../scripts/fetch-runtimes.mjs'
import { createProject, type Project } from '../package/project.ts'
import { type Loopback, listen, readBody } from '../support/loopback.ts'
import { runtime, skip } from '../support/runtimes.ts'
import { bundleWorker, startWorker } from '../support/workerd.ts'

const WRITE_KEY = 'wk_Serverless_7'
const TOTAL = 1_000

interface Message {
  readonly messageId: string
  readonly type: string
  readonly event?: string
  readonly properties?: { readonly orderId?: string }
}

let project: Project
let api: Loopback
let messages: Message[]
let requests: number
/** The API responds when this is resolved. */
let mayRespond: Promise<void>

beforeAll(async () => {
  project = await createProject()
  const modules = ['examples/serverless/aws-lambda.mjs', 'examples/serverless/cloudflare-worker.mjs']
  const others = [
    'examples/serverless/vercel-route.mjs',
    'test/serverless/platform.mjs',
    'test/serverless/forgetful.mjs',
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
  api = await listen(async (request, response) => {
    const { batch } = JSON.parse(await readBody(request)) as { batch: Message[] }
    requests++
    messages.push(...batch)
    await mayRespond
    response.end('{"success":true}')
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

/** A function on its platform. */
class Deployed {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #lines: AsyncIterator<string>
  readonly #exit: Promise<NodeJS.Signals | null>

  constructor(module: string, node: string) {
    if (process.platform !== 'linux') skip('the state of a process is read from /proc')
    if (module === 'vercel-route.mjs') runtime('vercel-functions')
    this.#child = spawn(node, ['platform.mjs'], {
      cwd: project.folder,
      env: { MODULE: join(project.folder, module), WRITE_KEY, TRACKPOST_HOST: api.url },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
    this.#exit = new Promise((resolve) => this.#child.on('exit', (_, signal) => resolve(signal)))
  }

  /** Runs one invocation; when this resolves, the process is frozen or dead. `onAnswer` runs in between. */
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

  /** One letter; `T` is stopped by a signal. */
  #state(): string | undefined {
    return /\) (\w)/.exec(readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8'))?.[1]
  }
}

/**
 * Invokes a function `count` times; the process is frozen after each, and killed after the last.
 *
 * @returns How many events had arrived at the instant that each invocation was over.
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
  test(`${TOTAL} invocations that are frozen the instant they are over deliver ${3 * TOTAL} events`, async () => {
    const arrived = await run(module, TOTAL)

    expect(arrived.filter((count) => count !== 3)).toEqual([])
    expect(messages).toHaveLength(3 * TOTAL)
    expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(3 * TOTAL)
    expect(requests).toBe(TOTAL)
  })

  test('a process that is killed the instant an invocation is over has delivered its events', async () => {
    for (let process = 0; process < 20; process++) expect(await run(module, 2)).toEqual([3, 3])

    expect(messages).toHaveLength(120)
  })
})

test('without either, events are lost: this is what the tests above would see', async () => {
  const arrived = await run('forgetful.mjs', 5)

  expect(arrived.reduce((sum, count) => sum + count)).toBeLessThan(15)
})

test.each(['node-18', 'node-22', 'node-24'])('the Lambda handler runs on %s, as on Lambda', async (name) => {
  expect(await run('aws-lambda.mjs', 3, runtime(name))).toEqual([3, 3, 3])

  const types = messages.slice(0, 3).map(({ type, event }) => event ?? type)
  expect(types).toEqual(['identify', 'Order Completed', 'Receipt Sent'])
})

test.each(['node-20', 'node-22'])(
  'the route of Next.js answers on %s before its events have arrived',
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

describe.each([
  ['without', []],
  ['with', ['nodejs_compat']],
])('the Worker in workerd %s nodejs_compat', (_, flags) => {
  test('answers before its events have arrived, and they arrive in one request', async () => {
    const { promise, resolve } = hold()
    mayRespond = promise
    await bundleWorker(
      join(project.folder, 'cloudflare-worker.mjs'),
      join(project.folder, 'worker.bundle.mjs'),
    )
    const bindings = { WRITE_KEY, TRACKPOST_HOST: api.url }
    const worker = await startWorker(runtime('workerd'), project.folder, 'worker.bundle.mjs', flags, bindings)
    const responded = once(api.server, 'request').then(([, response]) => once(response, 'finish'))
    try {
      const body = JSON.stringify({ orderId: 'order-7', userId: 'usr_Zoë', total: 12.5 })
      const response = await fetch(worker.url, { method: 'POST', body })
      expect(await response.json()).toEqual({ orderId: 'order-7' })
      // The API has not responded to any request so far.
      resolve()
      await responded
    } finally {
      worker.stop()
    }

    expect(messages.map(({ type }) => type)).toEqual(['identify', 'track', 'track'])
    expect(requests).toBe(1)
    expect(worker.log()).toBe('')
  })

  test('delivers the events of many requests side by side', async () => {
    await bundleWorker(
      join(project.folder, 'cloudflare-worker.mjs'),
      join(project.folder, 'worker.bundle.mjs'),
    )
    const bindings = { WRITE_KEY, TRACKPOST_HOST: api.url }
    const worker = await startWorker(runtime('workerd'), project.folder, 'worker.bundle.mjs', flags, bindings)
    try {
      await Promise.all(
        Array.from({ length: 100 }, async (_, number) => {
          const body = JSON.stringify({ orderId: `order-${number}`, userId: 'usr_Zoë', total: 1 })
          await (await fetch(worker.url, { method: 'POST', body })).text()
        }),
      )
      await vi.waitUntil(() => messages.length >= 300, { timeout: 30_000, interval: 20 })
    } finally {
      worker.stop()
    }

    expect(messages).toHaveLength(300)
    expect(requests).toBe(100)
  })
})

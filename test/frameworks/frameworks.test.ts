import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { findPackages } from '../../scripts/fetch-packages.mjs'
import { startNode, WRITE_KEY } from '../examples/run-node.ts'
import { createProject, type Project, REPOSITORY, run } from '../package/project.ts'
import type { Running } from '../support/program.ts'
import { type Receiver, startReceiver } from '../support/receiver.ts'
import { skip } from '../support/runtimes.ts'

const USERS = ['usr_ada', 'usr_Zoe', 'usr_grace', 'usr_linus']
const ORDERS = Array.from({ length: 40 }, (_, number) => ({
  orderId: `${USERS[number % USERS.length]}/${number}`,
  total: number,
}))

let project: Project | undefined
let receiver: Receiver
let service: Running | undefined

beforeAll(async () => {
  const frameworks = findPackages('test/frameworks')
  if (frameworks !== undefined) project = await createProject(frameworks)
})
afterAll(() => project?.remove())
beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(async () => {
  service?.child.kill('SIGKILL')
  await receiver.close()
})

/** Prepares an example in the project. Returns the arguments of Node.js that start the example. */
const PREPARE: Record<string, (project: Project) => Promise<string[]>> = {
  Express: async (project) => [await project.add('examples/frameworks/express.mjs')],
  Fastify: async (project) => [await project.add('examples/frameworks/fastify.mjs')],
  Hono: async (project) => [await project.add('examples/frameworks/hono.mjs')],

  async 'Next.js'(project) {
    const app = join(project.folder, 'nextjs')
    await cp(join(REPOSITORY, 'examples/frameworks/nextjs'), app, { recursive: true })
    const program = join(findPackages('test/frameworks') as string, 'node_modules/next/dist/bin/next')
    const built = await run(process.execPath, [program, 'build', app], project.folder)
    if (built.code !== 0) throw new Error(built.output)
    return [program, 'start', app, '--hostname', '127.0.0.1', '--port', '0']
  },
}

async function start(name: string): Promise<string> {
  if (project === undefined) skip('the frameworks are not in the cache: npm run frameworks')
  const args = await (PREPARE[name] as (typeof PREPARE)[string])(project as Project)
  service = startNode(args, {
    TRACKPOST_WRITE_KEY: WRITE_KEY,
    TRACKPOST_HOST: receiver.url,
    PORT: '0',
    NEXT_MANUAL_SIG_HANDLE: 'true',
    NEXT_TELEMETRY_DISABLED: '1',
  })
  const [, url] = await service.prints(/(http:\/\/127\.0\.0\.1:\d+)/)
  return url as string
}

function order(url: string, headers: Record<string, string>, body: object): Promise<Response> {
  return fetch(`${url}/orders?from=test`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Accept-Language': 'de-CH', ...headers },
    body: JSON.stringify(body),
  })
}

/** Headers with which a client may try to pretend to be another client. */
const FORGED = {
  'X-Forwarded-For': '203.0.113.66',
  'X-Forwarded-Host': 'evil.example',
  'X-Forwarded-Proto': 'https',
  Forwarded: 'for=203.0.113.66;host=evil.example;proto=https',
}
const DIRECT = { headers: FORGED, ip: '127.0.0.1' }
/** The Next.js example expects a proxy, which appends the address of its client to the header. */
const PROXIED = { headers: { 'X-Forwarded-For': '203.0.113.66, 198.51.100.9' }, ip: '198.51.100.9' }

describe.each([
  ['Express', DIRECT],
  ['Fastify', DIRECT],
  ['Hono', DIRECT],
  ['Next.js', PROXIED],
])('the example with %s', (name, { headers, ip }) => {
  test('separates the requests of users, and delivers all events when it is stopped', async () => {
    const url = await start(name)

    const responses = await Promise.all(
      ORDERS.map((body) => {
        const [userId = ''] = body.orderId.split('/')
        return order(url, { ...headers, 'X-User-Id': userId, 'User-Agent': `browser of ${userId}` }, body)
      }),
    )
    const placed = await Promise.all(responses.map((response) => response.json()))
    service?.child.kill('SIGTERM')
    const exit = await service?.ended

    expect(placed).toEqual(ORDERS.map(({ orderId }) => ({ placed: orderId })))
    expect(exit).toMatchObject({ code: 0, stderr: '' })
    const seen = receiver.events.map(({ event, userId, context, properties }) => ({
      event,
      userId,
      ip: context['ip'],
      userAgent: context['userAgent'],
      locale: context['locale'],
      page: context['page'],
      orderId: properties?.['orderId'],
    }))
    const expected = ORDERS.flatMap(({ orderId }) =>
      ['Order Started', 'Order Completed'].map((event) => ({
        event,
        userId: orderId.split('/')[0],
        ip,
        userAgent: `browser of ${orderId.split('/')[0]}`,
        locale: 'de-CH',
        page: { url: `${url}/orders?from=test`, path: '/orders', search: '?from=test' },
        orderId,
      })),
    )
    const key = (one: object) => JSON.stringify(one)
    expect(seen.map(key).sort()).toEqual(expected.map(key).sort())
    expect(receiver.duplicates).toEqual([])
  })
})

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runNode } from '../examples/run-node.ts'
import type { Loopback } from '../support/loopback.ts'
import { type ServiceRequest, startService } from '../support/service.ts'
import { CLIENT_ID, CLIENT_PEM, KEY_ID, TokenServer } from '../support/token-server.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

type Fields = Record<string, unknown>

interface Run {
  readonly seen: string[][]
  readonly own: Fields
  readonly bad: string
  readonly late: string[]
  readonly requests: ServiceRequest<Fields>[]
}

const LIBRARIES = { segment: '@segment/analytics-node', trackpost: 'trackpost' }

let project: Project
let service: Loopback
let tokens: TokenServer
let requests: ServiceRequest<Fields>[]

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())
beforeEach(async () => {
  requests = []
  tokens = await TokenServer.start()
  service = await startService<Fields>((request) => {
    requests.push(request)
    return request.batch.some(({ messageId }) => messageId === 'order-refused') ? 402 : 200
  })
})
afterEach(async () => {
  await Promise.all([service?.close(), tokens?.close()])
})

/** Runs the shop (ported/program.mts) with one of the two libraries. Only its import is changed. */
async function runShop(library: string, environment: string): Promise<Run> {
  const isOurs = library === LIBRARIES.trackpost
  const compiled = async (name: string, change = (text: string) => text): Promise<string> => {
    const text = await readFile(join(REPOSITORY, 'test/package/ported', `${name}.mts`), 'utf8')
    return transformSync(change(text), { loader: 'ts', format: 'esm', tsconfigRaw: '{}' }).code
  }
  const change = (text: string): string =>
    isOurs ? text.replace(`from '${LIBRARIES.segment}'`, `from '${library}'`) : text
  // @segment/analytics-node is not installed in the project, so it is imported by the path of its main file.
  const resolved = JSON.stringify(import.meta.resolve(LIBRARIES.segment))
  const program = (await compiled('program', change)).replaceAll(JSON.stringify(LIBRARIES.segment), resolved)
  const path = await project.write(`shop-${isOurs ? 'ours' : 'theirs'}-${environment}.mjs`, program)
  const drive = await project.write('drive.mjs', await compiled('drive'))
  const exit = await runNode([drive, path], {
    TRACKING_HOST: service.url,
    TOKEN_SERVER: tokens.url,
    CLIENT_ID,
    CLIENT_KEY: CLIENT_PEM,
    KEY_ID,
    SHOP_ENVIRONMENT: environment,
  })
  expect(exit).toMatchObject({ code: 0, stderr: '' })
  return { ...JSON.parse(exit.stdout.trim().split('\n').at(-1) ?? ''), requests: requests.splice(0) }
}

/** The received messages, sorted by `keyOf`, without the fields that differ for each event or each library. */
function facts({ requests }: Run): Fields[] {
  const messages = requests.flatMap(({ batch }) => batch)
  return messages
    .map(({ messageId, timestamp, _metadata, context, ...rest }) => {
      expect(typeof messageId === 'string' && typeof timestamp === 'string' && _metadata).toBeTruthy()
      const { library: _library, ...ofCaller } = context as Fields
      const isGiven = String(messageId).startsWith('order-')
      // A field that is null means the same as a missing field.
      const kept = Object.entries(rest).filter(([, value]) => value !== null)
      return { ...Object.fromEntries(kept), context: ofCaller, ...(isGiven && { messageId }) }
    })
    .sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
}

const keyOf = ({ type, messageId, properties }: Fields): string =>
  `${type} ${messageId} ${(properties as Fields | undefined)?.['url']}`

const lines = ({ seen }: Run, ...starts: string[]): string[][] =>
  seen.filter(([, first]) => starts.includes(first ?? ''))

describe('a program written for @segment/analytics-node, run with both libraries', () => {
  test('sends the same messages, and gets the same results', async () => {
    const theirs = await runShop(LIBRARIES.segment, 'staging')
    const ours = await runShop(LIBRARIES.trackpost, 'staging')

    expect(facts(ours)).toEqual(facts(theirs))
    expect(
      facts(ours)
        .map(({ type }) => type)
        .sort(),
    ).toEqual(['alias', 'group', 'identify', 'page', 'page', 'screen', 'screen', 'track', 'track'])
    expect(ours.own).toEqual(theirs.own)
    expect(ours.bad).toBe(theirs.bad)
    expect(ours.bad).toBe('[402] Payment Required')
    expect(ours.late).toEqual(theirs.late)
    expect(new Set(ours.requests.map(({ path }) => path))).toEqual(new Set(['/v1/batch']))
    for (const kind of ['identify', 'group', 'alias', 'page', 'screen', 'track']) {
      const delivered = [theirs, ours].map((run) => lines(run, kind).length)
      expect([kind, delivered[1]]).toEqual([kind, delivered[0]])
      expect(delivered[0]).toBeGreaterThan(0)
    }
    expect(lines(ours, 'delivery_failure').length).toBe(lines(theirs, 'delivery_failure').length)
  })

  test('works with OAuth, and with a custom HTTP client', async () => {
    const runs = [
      await runShop(LIBRARIES.segment, 'production'),
      await runShop(LIBRARIES.trackpost, 'production'),
    ]
    const [theirs, ours] = runs as [Run, Run]

    expect(facts(ours)).toEqual(facts(theirs))
    expect(tokens.refusals).toEqual([])
    for (const run of runs) {
      expect(run.requests.length).toBeGreaterThan(0)
      for (const { headers } of run.requests) expect(headers.authorization).toMatch(/^Bearer tok_/)
      const posts = run.seen.filter(([level, method]) => level === 'log' && method === 'POST')
      const paths = posts.map(([, , url]) => new URL(url ?? '').pathname)
      expect(new Set(paths)).toEqual(new Set(['/token', '/v1/batch']))
    }
    expect(ours.bad).toBe(theirs.bad)
  })
})

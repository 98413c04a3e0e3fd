import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Loopback, listen } from '../support/loopback.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

type Fields = Record<string, unknown>

interface Request {
  /** The first segment of the path: the part of the program that sent the request. */
  readonly part: string
  readonly path: string
  readonly authorization: string | undefined
  readonly encoding: string | undefined
  readonly batch: Fields[]
}

let project: Project
let service: Loopback
let requests: Request[]

beforeAll(async () => {
  project = await createProject()
})
afterAll(() => project?.remove())
beforeEach(async () => {
  requests = []
  service = await listen(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { 'content-encoding': encoding, authorization } = request.headers
    const bytes = Buffer.concat(chunks)
    const { batch } = JSON.parse((encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8'))
    const [, part = '', ...path] = (request.url ?? '').split('/')
    const isFirst = !requests.some((one) => one.part === part)
    requests.push({ part, path: path.join('/'), authorization, encoding, batch })
    response.statusCode = part === 'refused' ? 402 : part === 'retried' && isFirst ? 503 : 200
    response.end('{}')
  })
})
afterEach(() => service?.close())

interface Run {
  readonly outcomes: unknown[][]
  readonly requests: Request[]
}

async function run(program: string, specifier: string): Promise<Run> {
  const path = join(REPOSITORY, 'test/package/compat', program)
  const folder = specifier.startsWith('trackpost') ? project.folder : REPOSITORY
  // Runs in the folder of the project, so that its packages are found.
  const load = `process.argv.splice(1, 0, ${JSON.stringify(path)}); require('node:vm').runInThisContext(
    require('node:module').wrap(require('node:fs').readFileSync(${JSON.stringify(path)}, 'utf8')),
  ).call({}, {}, require, module)`
  const output = await new Promise<string>((resolve, reject) => {
    const args = ['-e', load, specifier, service.url]
    execFile(process.execPath, args, { cwd: folder }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stdout}\n${stderr}`)),
    )
  })
  return { outcomes: JSON.parse(output.trim().split('\n').at(-1) ?? ''), requests: requests.splice(0) }
}

/** The messages of one part that arrived, without the fields that differ for each event or each library. */
function facts(requests: Request[], part: string, leftOut: readonly string[] = []): Fields[] {
  return requests
    .filter((one) => one.part === part)
    .flatMap(({ batch }) => batch)
    .map((message) => {
      const { messageId, _metadata, context, sentAt: _sentAt, ...rest } = message
      expect(messageId).toEqual(expect.any(String))
      const { library: _library, ...ofCaller } = context as Fields
      const kept = Object.entries({ ...rest, context: ofCaller }).filter(([name]) => !leftOut.includes(name))
      // Leaves out empty objects, which only one of the libraries sends.
      return Object.fromEntries(kept.filter(([, value]) => JSON.stringify(value) !== '{}'))
    })
}

function without(value: unknown, name: string): Fields {
  const { [name]: left, ...kept } = value as Fields
  expect(left).toBeDefined()
  return kept
}

describe('a program written for analytics-node 6', () => {
  test('has the same outcomes with trackpost/compat', async () => {
    const before = await run('analytics-node.cjs', 'analytics-node')
    const after = await run('analytics-node.cjs', 'trackpost/compat')

    expect(after.outcomes).toEqual(before.outcomes)
    expect(before.outcomes.length).toBeGreaterThan(20)
    for (const part of ['kinds', 'first', 'flush', 'retried']) {
      const [theirs, ours] = [facts(before.requests, part), facts(after.requests, part)]
      const expected = ours.map((one) => ({
        ...one,
        ...(part !== 'kinds' && { timestamp: expect.any(String) }),
        // Trackpost copies the category of a page into its properties.
        ...(one['type'] === 'page' && { properties: without(one['properties'], 'category') }),
      }))
      expect(theirs).toEqual(expected)
      expect(theirs.length).toBeGreaterThan(0)
    }
    for (const { requests } of [before, after]) {
      expect(requests.some(({ part }) => part === 'disabled' || part === 'invalid')).toBe(false)
      expect(new Set(requests.map(({ path }) => path))).toEqual(new Set(['v1/batch']))
    }
    expect(after.requests[0]?.authorization).toBe(before.requests[0]?.authorization)
  })
})

describe('a program written for @rudderstack/rudder-sdk-node 3', () => {
  test('has the same outcomes with trackpost/compat', async () => {
    const before = await run('rudderstack.cjs', '@rudderstack/rudder-sdk-node')
    const after = await run('rudderstack.cjs', 'trackpost/compat')

    expect(after.outcomes).toEqual(before.outcomes)
    expect(before.outcomes.length).toBeGreaterThan(8)
    for (const part of ['kinds', 'flush']) {
      // Trackpost also sends `timestamp`, the field that Segment's API reads.
      const [theirs, ours] = [before, after].map(({ requests }) => facts(requests, part, ['timestamp'])) as [
        Fields[],
        Fields[],
      ]
      const expected = ours.map(({ properties, ...one }) => ({
        ...one,
        ...(part !== 'kinds' && { originalTimestamp: expect.any(String) }),
        // Trackpost copies the category of a page into its properties.
        ...(one['type'] !== 'page' && properties !== undefined && { properties }),
      }))
      expect(theirs).toEqual(expected)
      expect(theirs.length).toBeGreaterThan(0)
    }
    for (const { requests } of [before, after]) {
      const encodings = (part: string) =>
        requests.filter((one) => one.part === part).map((one) => one.encoding)
      expect(encodings('kinds')).toEqual(['gzip'])
      expect(encodings('flush')).toEqual([undefined])
    }
  })
})

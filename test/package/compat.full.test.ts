import { execFile } from 'node:child_process'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runNode } from '../examples/run-node.ts'
import type { Loopback } from '../support/loopback.ts'
import { startService } from '../support/service.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

type Fields = Record<string, unknown>

interface Request {
  /** The first segment of the path: the part of the program that sent the request. */
  readonly part: string
  readonly path: string
  readonly authorization: string | undefined
  readonly encoding: string | undefined
  readonly batch: readonly Fields[]
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
  service = await startService<Fields>((request) => {
    const { 'content-encoding': encoding, authorization } = request.headers
    const [, part = '', ...path] = request.path.split('/')
    const isFirst = !requests.some((one) => one.part === part)
    requests.push({ part, path: path.join('/'), authorization, encoding, batch: request.batch })
    return part === 'refused' ? 402 : part === 'retried' && isFirst ? 503 : 200
  })
})
afterEach(() => service?.close())

interface Run {
  readonly outcomes: unknown[][] | Fields
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

test.each([
  ['analytics-node', "const Analytics = require('MODULE'); new Analytics('k', { enable: false })"],
  ['analytics-node', "const Analytics = require('MODULE').default ?? require('MODULE'); new Analytics('k')"],
  [
    '@rudderstack/rudder-sdk-node',
    "const Analytics = require('MODULE'); new Analytics('k', { dataPlaneUrl: 'http://127.0.0.1:1' })",
  ],
])('require works as with %s: %s', async (library, program) => {
  const code = (name: string): string => `${program.replaceAll('MODULE', name)}.flush(); console.log('made')`
  const outputs = [
    await runNode(['-e', code(library)], {}, REPOSITORY),
    await runNode(['-e', code('trackpost/compat')], {}, project.folder),
  ]

  expect(outputs.map(({ code, stdout }) => [code, stdout])).toEqual(Array(2).fill([0, 'made\n']))
})

test('require returns the default export, with all other exports as its properties', async () => {
  const program = `const all = require('trackpost/compat'); const { Analytics, RudderAnalytics, CompatError } = all
    console.log(all === Analytics, all.default === all, all.__esModule, [RudderAnalytics, CompatError].map(({ name }) => name).join())`

  const { stdout } = await runNode(['-e', program], {}, project.folder)

  expect(stdout).toBe('true true true RudderAnalytics,CompatError\n')
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

interface PostHogEvent {
  readonly event: string
  readonly distinct_id: string
  readonly properties: Fields
  readonly timestamp: string
  readonly uuid: string
}

/** The message that stands for an event of PostHog, with the fields that the program has set. */
function asMessage({ event, distinct_id: id, properties, timestamp, uuid }: PostHogEvent): Fields {
  switch (event) {
    case '$identify': {
      const { $set: traits, $anon_distinct_id: anonymousId } = properties
      return { type: 'identify', userId: id, anonymousId, traits }
    }
    case '$create_alias':
      return { type: 'alias', userId: id, previousId: properties['alias'] }
    case '$groupidentify':
      return {
        type: 'group',
        userId: id,
        groupId: properties['$group_key'],
        traits: properties['$group_set'],
      }
    case '$pageview': {
      const { $title: name, $current_url: url } = properties
      return { type: 'page', anonymousId: id, name, properties: { url } }
    }
    default: {
      const own = Object.entries(properties).filter(([name]) => !name.startsWith('$'))
      const { $groups: groups } = properties as { $groups?: { company?: string } }
      return {
        type: 'track',
        userId: id,
        event,
        properties: Object.fromEntries(own),
        ...(groups?.company !== undefined && {
          context: { groupId: groups.company },
          timestamp,
          messageId: uuid,
        }),
      }
    }
  }
}

describe('the program of docs/migration/posthog-node.md', () => {
  const programs = async (): Promise<{ before: string; after: string }> => {
    const guide = await readFile(join(REPOSITORY, 'docs/migration/posthog-node.md'), 'utf8')
    const [before = '', after = ''] = [...guide.matchAll(/^```m?ts\n([\s\S]*?)^```$/gm)].map(
      ([, code = '']) => code,
    )
    return { before, after }
  }
  beforeAll(() =>
    symlink(join(REPOSITORY, 'node_modules/posthog-node'), join(project.folder, 'node_modules/posthog-node')),
  )

  test('sends the messages that stand for the events of posthog-node', async () => {
    const batches: Fields[][] = []
    for (const [name, code] of Object.entries(await programs())) {
      const { code: program } = transformSync(code, { loader: 'ts', format: 'esm' })
      const path = await project.write(`posthog-${name}.mjs`, program)
      const env = {
        ...{ POSTHOG_KEY: 'phc_k', POSTHOG_HOST: `${service.url}/before` },
        ...{ TRACKPOST_WRITE_KEY: 'k', TRACKPOST_HOST: `${service.url}/after` },
      }
      const { code: exitCode, stderr } = await runNode([path], env, project.folder)
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
      batches.push(requests.filter(({ part }) => part === name).flatMap(({ batch }) => batch))
    }

    // The event that is sent at once may arrive first.
    const sorted = (messages: Fields[]): Fields[] =>
      messages.sort((a, b) => `${a['type']} ${a['event']}`.localeCompare(`${b['type']} ${b['event']}`))
    const [theirs = [], ours = []] = batches
    const expected = theirs.map((event) => asMessage(event as unknown as PostHogEvent))
    expect(sorted(ours)).toMatchObject(sorted(expected))
    expect(ours).toHaveLength(6)
  })
})

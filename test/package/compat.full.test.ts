import { execFile } from 'node:child_process'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runNode } from '../examples/run-node.ts'
import type { Loopback } from '../support/loopback.ts'
import { startService } from '../support/service.ts'
import { compileSnippets } from './compile-snippets.ts'
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

/** Returns the path of a program as JavaScript. In TypeScript, its import is replaced, because that cannot be a variable. */
async function compiled(program: string, specifier: string): Promise<string> {
  const path = join(REPOSITORY, 'test/package/compat', program)
  if (!program.endsWith('.mts')) return path
  const code = (await readFile(path, 'utf8')).replace("from 'posthog-node'", `from '${specifier}'`)
  return project.write(
    'posthog.cjs',
    transformSync(code, { loader: 'ts', format: 'cjs', target: 'node16' }).code,
  )
}

async function run(program: string, specifier: string): Promise<Run> {
  const path = await compiled(program, specifier)
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
  ['posthog-node', "const { PostHog } = require('MODULE'); new PostHog('k')"],
])('require works as with %s: %s', async (library, program) => {
  const code = (name: string): string => `${program.replaceAll('MODULE', name)}.flush(); console.log('made')`
  const outputs = [
    await runNode(['-e', code(library)], {}, REPOSITORY),
    await runNode(['-e', code('trackpost/compat')], {}, project.folder),
  ]

  expect(outputs.map(({ code, stdout }) => [code, stdout])).toEqual(Array(2).fill([0, 'made\n']))
})

test('require returns the default export, with all other exports as its properties', async () => {
  const program = `const all = require('trackpost/compat'); const { Analytics, RudderAnalytics, PostHog, CompatError } = all
    console.log(all === Analytics, all.default === all, all.__esModule, [RudderAnalytics, PostHog, CompatError].map(({ name }) => name).join())`

  const { stdout } = await runNode(['-e', program], {}, project.folder)

  expect(stdout).toBe('true true true RudderAnalytics,PostHog,CompatError\n')
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

/** The message that stands for an event of PostHog. */
function asMessage({ event, distinct_id, properties, timestamp, uuid }: PostHogEvent): Fields {
  const isGiven = timestamp === '2024-02-29T12:00:00.000Z'
  const common = {
    userId: distinct_id,
    timestamp: isGiven ? timestamp : expect.any(String),
    messageId: isGiven ? uuid : expect.any(String),
  }
  const own = Object.entries(properties).filter(
    ([name]) => !/^\$(lib|lib_version|geoip_disable|groups|is_server)$/.test(name),
  )
  const { $groups: groups } = properties
  const context = groups === undefined || Object.keys(groups as object).length === 0 ? {} : { groups }
  switch (event) {
    case '$identify': {
      const { $set: traits, $set_once, $anon_distinct_id: anonymousId } = properties
      const hasOnce = Object.keys($set_once as object).length > 0
      return {
        ...common,
        type: 'identify',
        traits,
        ...(anonymousId !== undefined && { anonymousId }),
        context: hasOnce ? { $set_once } : {},
      }
    }
    case '$create_alias':
      return { ...common, type: 'alias', previousId: properties['alias'], context: {} }
    case '$groupidentify': {
      const { $group_type: groupType, $group_key: groupId, $group_set: traits } = properties
      const { userId, ...rest } = common
      const identity = userId.startsWith('$') ? { anonymousId: userId } : { userId }
      return { ...rest, ...identity, type: 'group', groupId, traits, context: { groupType } }
    }
    case '$pageview':
      return {
        ...common,
        type: 'page',
        name: properties['$title'],
        properties: Object.fromEntries(own),
        context,
      }
    case '$screen':
      return {
        ...common,
        type: 'screen',
        name: properties['$screen_name'],
        properties: Object.fromEntries(own),
        context,
      }
    default:
      return { ...common, type: 'track', event, properties: Object.fromEntries(own), context }
  }
}

/** The names and shapes of types that wrappers around `posthog-node` use. */
const TYPES = (library: string): string => `
  import { type EventMessage, type GroupIdentifyMessage, type IdentifyMessage, PostHog, type PostHogOptions } from '${library}'
  export const make = (options?: PostHogOptions): PostHog => new PostHog('k', { host: 'https://a.example', ...options })
  const settings: ConstructorParameters<typeof PostHog>[1] = {
    fetch: (url, init) => fetch(url, init as RequestInit), waitUntil: (promise) => void promise, disabled: false,
  }
  const event: EventMessage = { distinctId: 'u', event: 'e', groups: { company: 1 }, timestamp: new Date(), disableGeoip: true }
  const person: IdentifyMessage = { distinctId: 'u', properties: { a: 1 } }
  const group: GroupIdentifyMessage = { groupType: 'company', groupKey: 'c', disableGeoip: true }
  export class Shop extends PostHog {
    override capture(message: EventMessage): void {
      super.capture({ ...message, properties: { ...message.properties, shop: 1 } })
    }
  }
  const part = (client: Pick<PostHog, 'capture' | 'identify' | 'groupIdentify' | 'shutdown'>): Promise<void> => {
    client.capture(event)
    client.identify(person)
    client.groupIdentify(group)
    return client.shutdown()
  }
  export const done = part(make(settings))`

describe('a program written for posthog-node 5', () => {
  test('has the same outcomes, and sends the messages that stand for its events', async () => {
    const before = await run('posthog.mts', 'posthog-node')
    const after = await run('posthog.mts', 'trackpost/compat')

    expect(after.outcomes).toEqual(before.outcomes)
    expect(before.outcomes).toEqual({ errors: 0, quiet: 0, refused: Array(4).fill('string') })
    const theirs = before.requests.filter(({ part }) => part === 'shop').flatMap(({ batch }) => batch)
    const ours = after.requests
      .filter(({ part }) => part === 'shop')
      .flatMap(({ batch }) => batch)
      .map(({ _metadata, integrations: _integrations, context, ...message }) => {
        const { library: _library, ...ofCaller } = context as Fields
        // An empty object stands for no groups.
        const { groups, ...rest } = ofCaller as { groups?: object }
        const isEmpty = groups === undefined || Object.keys(groups).length === 0
        return { ...message, context: isEmpty ? rest : { ...rest, groups } }
      })
    expect(ours).toEqual(theirs.map((event) => asMessage(event as unknown as PostHogEvent)))
    expect(ours).toHaveLength(14)
    for (const { requests } of [before, after])
      expect(requests.some(({ part }) => part === 'quiet')).toBe(false)
  })

  test('compiles in strict TypeScript with both libraries', async () => {
    const program = await readFile(join(REPOSITORY, 'test/package/compat/posthog.mts'), 'utf8')
    const snippets = {
      ours: program.replace("from 'posthog-node'", "from 'trackpost/compat'"),
      theirs: program,
      // All options of PostHog are accepted, except these.
      options: `import type { PostHogOptions as Theirs } from 'posthog-node'
        import { PostHog, type PostHogOptions as Ours } from 'trackpost/compat'
        const refused: Record<Exclude<keyof Theirs, keyof Ours>, true> = { before_send: true, defaultOptIn: true }
        const theirs: Omit<Theirs, keyof typeof refused | 'fetch'> = { disableGeoip: true, fetchRetryDelay: 100 }
        new PostHog('k', theirs)`,
      ...Object.fromEntries(['posthog-node', 'trackpost/compat'].map((library) => [library, TYPES(library)])),
    }
    await symlink(
      join(REPOSITORY, 'node_modules/posthog-node'),
      join(project.folder, 'node_modules/posthog-node'),
    )

    const complaints = await compileSnippets(project, 'posthog', '', snippets, ['node'])

    expect(Object.keys(complaints)).toHaveLength(5)
    expect(Object.values(complaints).join('')).toBe('')
  })

  test('the options that the guide calls ignored have no effect, and cause no warning', async () => {
    const guide = await readFile(join(REPOSITORY, 'docs/migration/posthog-node.md'), 'utf8')
    const [, names = ''] = /^\| options that are ignored: (.*?) \|/m.exec(guide) ?? []
    const ignored = [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, 0])
    const options = JSON.stringify({ ...Object.fromEntries(ignored), defaultOptIn: true })
    const program = `const { PostHog } = require('trackpost/compat'); new PostHog('k', ${options})`

    const { code, stderr } = await runNode(['-e', program], {}, project.folder)

    expect([code, stderr]).toEqual([0, ''])
    expect(ignored.length).toBeGreaterThan(40)
  })

  test.each([
    [
      "new PostHog('k', { host: 'https://eu.i.posthog.com' })",
      'host: expected a service with the Segment API',
    ],
    ["new PostHog('k', { before_send: (event) => event })", 'before_send: register a plugin'],
    [
      "new PostHog('k', { defaultOptIn: false })",
      'defaultOptIn: there is no optIn(); let disable be a function',
    ],
    ["new PostHog('k', { maxBatchSize: 0 })", 'maxEventsInBatch: expected an integer from 1'],
    ["new PostHog('k', 5)", 'options: expected an object, got a number'],
    ['new PostHog()', 'writeKey'],
  ])('what cannot move is refused: %s', async (expression, message) => {
    const program = `const { PostHog } = require('trackpost/compat'); ${expression}`

    const { code, stderr } = await runNode(['-e', program], {}, project.folder)

    expect(code).toBe(1)
    expect(stderr).toContain(message)
  })
})

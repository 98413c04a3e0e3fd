import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchPackages } from '../../scripts/fetch-packages.mjs'
import { ENTRIES } from '../../tsup.config.ts'
import { createProject, type Project, REPOSITORY, run } from './project.ts'

/** Imports entry points of the package, and uses the parts whose types depend on types of the runtime. */
const PROGRAM = `
import Default, { Analytics, Context, FetchHTTPClient, FAILURE_CODES } from 'trackpost'
import type { AnalyticsSettings, FlushSummary, HTTPClient, Message, Plugin, Stats } from 'trackpost'
import Compat, { Analytics as CompatAnalytics } from 'trackpost/compat'
import { NodeHTTPClient } from 'trackpost/node'
import { type InferEvents, type PlanSchemas, redact, trackingPlan } from 'trackpost/plugins'
import { createTestClient, type TestClient } from 'trackpost/testing'

const httpClient: HTTPClient = {
  async makeRequest({ url, signal, body }) {
    signal?.addEventListener('abort', () => {})
    return { status: signal?.aborted === true ? 0 : 200, statusText: url + body.length }
  },
}
const settings: AnalyticsSettings = { writeKey: 'k', httpClient, waitUntil: (promise) => void promise.then(() => {}) }
export const analytics: Analytics = new Default(settings)
export const compat: CompatAnalytics = new Compat('k')
export const clients: HTTPClient[] = [new FetchHTTPClient(), new NodeHTTPClient()]
const plugin: Plugin = { name: 'p', type: 'before', isLoaded: () => true, load: () => {}, track: (ctx) => ctx }
analytics.track({ userId: 'u', event: 'e', properties: { a: [1] } }, (error, ctx) => [error?.code, ctx?.id])
declare const schema: PlanSchemas[string] & { '~standard': { types?: { input: { total: number }; output: object } } }
const plan = trackingPlan({ Bought: schema })
export const planned: Analytics<InferEvents<typeof plan>> = new Analytics(settings)
void planned.register(plan, redact({ keys: ['a', /b/] }))
planned.track({ userId: 'u', event: 'Bought', properties: { total: 1 } })
export const client: TestClient<{ Bought: { total: number } }> = createTestClient({ flushAt: 2 })
export const totals: number[] = client.find({ event: 'Bought', userId: 'u' }).map(({ properties }) => properties.total)
export const flushes: Promise<FlushSummary[]> = Promise.all([analytics.flush(), analytics.closeAndFlush()])
export const stop: () => Promise<FlushSummary> = () => analytics.closeAndFlush({ timeout: 1 })
export const failed: Promise<number> = analytics.flush().then((summary) => summary.failed)
analytics.emit('error', { code: 'mine', reason: 'a text' })
export const ctx: Context = new Context({ type: 'track', event: 'e', userId: 'u', properties: {} })
compat.track({ userId: 'u', event: 'e' }, (error: Error) => error.message)
export const batches: Promise<number> = compat.flush().then(({ batch }) => batch.length)
analytics.on('call_after_close', (message: Message) => message.event)
export async function main(): Promise<Stats> {
  await analytics.register(plugin)
  const summary: FlushSummary = await analytics.flush({ timeout: 1 })
  const { pending }: { pending: number } = await analytics.closeAndFlush()
  return summary.failed + pending > FAILURE_CODES.length || !(plugin instanceof Context) ? analytics.stats : analytics.stats
}
`

/** The other entry points, except `trackpost/msw`, which needs the types of msw and of the DOM. */
const OTHERS = ENTRIES.filter((name) => name !== 'msw' && !PROGRAM.includes(`'trackpost/${name}'`))
  .map((name) => `export * as ${name} from 'trackpost/${name}'\n`)
  .join('')

/** Added for TypeScript 5.2 and later, which support `await using`. */
const AWAIT_USING = `
export async function block(): Promise<void> {
  await using scoped = new Analytics(settings)
  scoped.page({ anonymousId: 'a' })
}
`

const RESOLUTIONS = {
  node10: { options: { module: 'commonjs', moduleResolution: 'node10' }, files: ['program.ts'] },
  node16: {
    options: { module: 'node16', moduleResolution: 'node16' },
    files: ['program.mts', 'program.cts'],
  },
  nodenext: {
    options: { module: 'nodenext', moduleResolution: 'nodenext' },
    files: ['program.mts', 'program.cts'],
  },
  bundler: { options: { module: 'esnext', moduleResolution: 'bundler' }, files: ['program.ts'] },
} as const

/**
 * The oldest and the newest version of TypeScript that the types support, and versions between them that changed how
 * types are checked.
 */
const VERSIONS = ['5.0', '5.2', '5.6', '5.9', '6.0', '7.0'] as const

/** True with `npm run test:package -- --full`: tests all combinations. */
const isFull = process.env['TEST_FULL'] === '1'

let project: Project
/** The folder of the compilers. */
let compilers: string
beforeAll(async () => {
  ;[project, compilers] = await Promise.all([createProject(), fetchPackages('test/package/compilers')])
}, 300_000)
afterAll(() => project?.remove())

interface Combination {
  version: (typeof VERSIONS)[number]
  resolution: keyof typeof RESOLUTIONS
  hasNodeTypes: boolean
}

const every = (version: Combination['version']): Combination[] =>
  (Object.keys(RESOLUTIONS) as Combination['resolution'][])
    // TypeScript 7 has no moduleResolution `node10`.
    .filter((resolution) => resolution !== 'node10' || version !== '7.0')
    .flatMap((resolution) => [true, false].map((hasNodeTypes) => ({ version, resolution, hasNodeTypes })))

/** The combinations of the default size: few for the older versions, but all for TypeScript 7, because its compiler is fast. */
const usual: Combination[] = [
  { version: '5.0', resolution: 'node10', hasNodeTypes: false },
  { version: '5.0', resolution: 'node16', hasNodeTypes: true },
  { version: '5.2', resolution: 'bundler', hasNodeTypes: false },
  ...every('7.0'),
]

const cases = isFull ? VERSIONS.flatMap(every) : usual

/** The compiler's errors in the program and in the declarations of the package. Errors in other packages are left out. */
async function complaints({ version, resolution, hasNodeTypes }: Combination): Promise<string[]> {
  const { options, files } = RESOLUTIONS[resolution]
  const folder = join(
    project.folder,
    `${version}-${resolution}-${hasNodeTypes ? 'with' : 'without'}-node-types`,
  )
  await mkdir(folder, { recursive: true })
  const name = (file: string): string => `${folder.slice(project.folder.length + 1)}/${file}`
  const compilerOptions = {
    ...options,
    target: 'ES2022',
    lib: ['ES2022'],
    types: hasNodeTypes ? ['node'] : [],
    typeRoots: [join(REPOSITORY, 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    esModuleInterop: true,
    noEmit: true,
  }
  const program = PROGRAM + OTHERS + (version === '5.0' ? '' : AWAIT_USING)
  for (const file of files) await project.write(name(file), program)
  const path = await project.write(name('tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const args = [
    join(compilers, `node_modules/typescript-${version}/bin/tsc`),
    '--project',
    path,
    '--pretty',
    'false',
  ]
  const { output } = await run(process.execPath, args, project.folder)
  const ours = /^(?:[^\s(]*trackpost\/dist\/|[^\s(]*program\.[cm]?ts|error )/
  return output.split('\n').filter((line) => ours.test(line))
}

describe('the types compile without skipLibCheck', () => {
  test.each(cases)(
    'TypeScript $version, moduleResolution $resolution, types of Node.js: $hasNodeTypes',
    async (combination) => {
      expect(await complaints(combination)).toEqual([])
    },
  )
})

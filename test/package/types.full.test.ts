import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileSnippets } from './compile-snippets.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

/** Code that must compile. Most of it also compiles with other SDKs, from which users migrate. */
const ACCEPTED = {
  'a callback with the current parameters': `
    const callback = (error?: unknown, ctx?: Context): void => console.log(error, ctx?.event.userId)
    analytics.track({ userId: 'u', event: 'e' }, callback)`,
  'settings that are undefined': `
    new Analytics({ writeKey: 'k', host: undefined, path: undefined, httpClient: undefined, flushAt: undefined })`,
  'fields that are undefined or null': `
    analytics.page({ userId: 'u', anonymousId: undefined, name: undefined, properties: null, context: undefined })`,
  'a function like fetch as the HTTP client': `
    new Analytics({ writeKey: 'k', httpClient: fetch })
    new Analytics({ writeKey: 'k', httpClient: (url, request) => fetch(url, { ...request }) })
    new Analytics({ writeKey: 'k', httpClient: new FetchHTTPClient(fetch) })`,
  'a plugin with asynchronous parts': `
    const plugin: Plugin = {
      name: 'p', type: 'destination', alternativeNames: ['P'], isLoaded: () => true,
      load: async (ctx: Context, analytics: Analytics) => { analytics.on('track', () => ctx) },
      unload: async () => {}, ready: async () => {}, track: async (ctx) => ctx, alias: (ctx) => ctx,
    }
    void analytics.register(plugin)`,
  'listeners of every local event': `
    analytics.on('error', ({ code, reason, ctx }) => console.log(code, reason, ctx?.event.type))
    analytics.once('http_request', ({ url, method, headers, body }) => [url, method, headers['x'], body])
    analytics.on('http_response', ({ url, status, statusText, headers }) => [url, status, statusText, headers])
    analytics.on('call_after_close', (event) => event).on('drained', () => {}).on('initialize', () => {})
    analytics.on('register', (names) => names.length).on('deregister', (names) => names.length)`,
}

/** Must compile: values of types that users declare, and traits in every form that the service accepts. */
const ACCEPTED_SHAPES = {
  'an interface as properties and traits': `
    interface Order { id: string; coupon?: string }
    const order: Order = { id: 'o' }
    analytics.track({ userId: 'u', event: 'e', properties: order })
    analytics.identify({ userId: 'u', traits: order })
    analytics.group({ userId: 'u', groupId: 'g', traits: order })`,
  'interfaces, classes and records as context and integrations': `
    interface Facts { ip: string; app: { version: string } }
    interface Switches { All: boolean; CRM?: boolean }
    class Device { model = 'm'; toJSON() { return { model: this.model } } }
    const facts: Facts = { ip: '::1', app: { version: '1' } }
    const switches: Switches = { All: false, CRM: true }
    const record: Record<string, unknown> = { a: 1 }
    analytics.track({ userId: 'u', event: 'e', context: facts, integrations: switches, properties: new Device() })
    analytics.track({ userId: 'u', event: 'e', context: record, integrations: { CRM: { id: 1 } }, properties: record })
    analytics.identify({ userId: 'u', traits: record })`,
  'traits that are null, and ids and phones that are numbers': `
    analytics.identify({ userId: 'u', traits: { id: 7, phone: 41, email: null, age: null, plan: null, birthday: new Date(),
      address: { street: null, postalCode: '8000' }, company: { id: 7, name: null, employee_count: 5 }, any: [1] } })
    analytics.group({ userId: 'u', groupId: 'g', traits: { id: 7, employees: '5', phone: 41, name: null, address: null } })`,
  'standard facts in the context, read by a plugin': `
    analytics.page({ userId: 'u', context: { page: { url: 'https://a', referrer: '' }, campaign: { source: 's', custom: 'x' },
      referrer: { url: 'https://b' }, location: { latitude: '1' }, active: true } })
    const read = (ctx: Context): (string | undefined)[] => [
      ctx.event.context.page?.url, ctx.event.context.campaign?.source, ctx.event.context.referrer?.url,
      ctx.event.context.location?.city, ctx.event.context.library.name,
    ]
    console.log(read)`,
  'a plugin that reads properties and context': `
    const plugin: Plugin = {
      name: 'p', type: 'before', isLoaded: () => true, load: async () => {},
      track: (ctx) => {
        if (ctx.event.properties?.email.includes('@')) ctx.event.properties.email = ''
        const ip: string | undefined = ctx.event.context?.ip
        return ip === undefined ? ctx : ctx
      },
    }
    void analytics.register(plugin)`,
  'an HTTP client whose headers are a class or an interface': `
    class Headers { get(name: string): string | null { return name } has(): boolean { return true } }
    interface Raw { server?: string }
    const raw: Raw = {}
    const answers: HTTPResponse[] = [
      { status: 200, statusText: 'OK', headers: new Headers() },
      { status: 200, statusText: 'OK', headers: raw },
    ]
    console.log(answers)`,
}

const TYPED = `
    interface Events {
      readonly 'Signed Up': undefined
      'Order Completed': { total: number; readonly currency: 'EUR' | 'CHF'; coupon?: string }
      'Anything': Record<string, unknown>
    }
    interface Traits { plan: 'free' | 'pro' }
    declare const typed: Analytics<Events, Traits, { seats: number }>`

/** Must compile: code that was written for the declarations of other libraries with the same names. */
const ACCEPTED_NAMES = {
  'the summary of a flush, also where the client may be missing': `
    const stop = async (): Promise<void> => void (await analytics.closeAndFlush())
    const both = async (): Promise<number> => {
      const [{ failed }, { pending }] = await Promise.all([analytics.flush(), analytics.with({ userId: 'u' }).flush()])
      const summary: FlushSummary = await analytics.flush()
      const known: FlushSummary | undefined = await (analytics as Analytics | undefined)?.flush()
      const result = await (analytics as Analytics | undefined)?.flush()
      if (result) console.log(result.failed)
      console.log((await (analytics as Analytics | undefined)?.flush())?.failed)
      return failed + pending + summary.delivered + (summary.deferred ?? 0) + (known?.failed ?? 0)
    }
    process.once('SIGTERM', () => analytics.closeAndFlush())
    console.log(stop, both)`,
  'a context made by a test, and an event emitted by a program': `
    const event = 'Signed Up'
    const ctx = new Context({ type: 'track', event, userId: 'u', properties: {} })
    const library: string = ctx.event.context.library.name
    analytics.emit('error', { code: 'mine', reason: 'a text', ctx }).emit('error', { code: 'mine' })
    analytics.emit('warning', { code: 'mine', reason: new Error('e') })
    analytics.on('error', ({ reason }) => console.log(reason.code, library))`,
  'trackpost/compat, as @types/analytics-node declares it': `
    const compat = new CompatAnalytics('k')
    compat.track({ userId: 'u', event: 'e' }, (err: Error) => console.log(err.message))
    compat.flush((err: Error, data: CompatData) => console.log(err, data.batch)).then(({ batch }) => batch.length)
    const callback: (error?: Error, data?: CompatData) => void = () => {}
    compat.flush((err, data) => console.log(err.message, data.batch.length))
    compat.track({ userId: 'u', event: 'e' }, (err) => { if (err) console.log(err.message) })
    compat.identify({ userId: 'u' }, callback).page({ userId: 'u' }, () => {})
    const options: ConstructorParameters<typeof CompatAnalytics>[1] = { flushAt: 1, timeout: 10_000, flushed: true }
    const message: Parameters<CompatAnalytics['track']>[0] = { userId: 1, event: 'e', properties: null, context: facts() }
    class Shop extends CompatAnalytics { constructor() { super('k', options) } }
    new Shop().track(message).group({ userId: 'u', groupId: 4, traits: facts() })
    function facts(): unknown { return {} }`,
}

/** Must compile: calls of a client that has a map of event types. */
const ACCEPTED_TYPED = {
  'typed events': `${TYPED}
    typed.track({ userId: 'u', event: 'Signed Up' })
    typed.track({ userId: 'u', event: 'Signed Up', properties: {} })
    typed.track({ userId: 'u', event: 'Order Completed', properties: { total: 1, currency: 'EUR' } }, (error) => error?.code)
    typed.track({ anonymousId: 'a', event: 'Anything', properties: { x: [1] } })
    typed.track({ anonymousId: 'a', event: 'Anything' })
    typed.identify({ userId: 'u', traits: { plan: 'pro' } })
    typed.group({ userId: 'u', groupId: 'g', traits: { seats: 4 } })`,
  'typed promises and scopes': `${TYPED}
    const done: Promise<Context> = typed.promises.track({ userId: 'u', event: 'Signed Up' })
    typed.with({ userId: 'u' }).track({ event: 'Order Completed', properties: { total: 1, currency: 'CHF' } })
    typed.with({ userId: 'u' }).with({ context: { ip: '::1' } }).promises.identify({ traits: { plan: 'free' } })
    void done`,
  'a typed client and its scope where their tracker is expected': `${TYPED}
    const join = (tracker: Tracker<Events, Traits, { seats: number }>): void => {
      tracker.identify({ userId: 'u', traits: { plan: 'pro' } })
      tracker.group({ userId: 'u', groupId: 'g', traits: { seats: 4 } })
    }
    join(typed)
    join(typed.with({ userId: 'u' }))
    const scope: ScopedTracker<Events, Traits, { seats: number }> = typed.with({ userId: 'u' })
    join(scope)`,
  'a typed client where any client is expected': `${TYPED}
    const names: (client: Pick<Analytics, 'stats' | 'flush'>) => unknown = (client) => client.stats
    names(typed)`,
}

/** Must not compile: calls of a client that has a map of event types. The second text must be in the error. */
const REFUSED_TYPED: Record<string, [snippet: string, mentions: string]> = {
  'an event that is not in the map': [`typed.track({ userId: 'u', event: 'Sined Up' })`, 'Signed Up'],
  'a property of another type': [
    `typed.track({ userId: 'u', event: 'Order Completed', properties: { total: '1', currency: 'EUR' } })`,
    `'string' is not assignable to type 'number'`,
  ],
  'a property that is missing': [
    `typed.track({ userId: 'u', event: 'Order Completed', properties: { total: 1 } })`,
    'currency',
  ],
  'properties that are missing': [
    `typed.track({ userId: 'u', event: 'Order Completed' })`,
    `Property 'properties' is missing`,
  ],
  'properties of an event that has none': [
    `typed.track({ userId: 'u', event: 'Signed Up', properties: { plan: 'pro' } })`,
    'never',
  ],
  'a trait of another type': [`typed.identify({ userId: 'u', traits: { plan: 'gold' } })`, 'gold'],
  'a trait of a group of another type': [
    `typed.group({ userId: 'u', groupId: 'g', traits: { seats: 'four' } })`,
    'number',
  ],
  'a trait of another type, through a tracker': [
    `const tracker: Tracker<Events, Traits> = typed; tracker.identify({ userId: 'u', traits: { plan: 'gold' } })`,
    'gold',
  ],
  'a scope with typed traits where a tracker without them is expected': [
    `const tracker: Tracker<Events> = typed.with({ userId: 'u' })`,
    `is not assignable to type 'Tracker<Events`,
  ],
  'a typed event without an identity': [`typed.track({ event: 'Signed Up' })`, 'anonymousId'],
  'a scoped event that is not in the map': [
    `typed.with({ userId: 'u' }).track({ event: 'x' })`,
    'keyof Events',
  ],
}

const REFUSED = {
  'an event without an identity': `analytics.track({ event: 'e' })`,
  'a track without the name of the event': `analytics.track({ userId: 'u' })`,
  'a group without its id': `analytics.group({ userId: 'u' })`,
  'an alias without the former id': `analytics.alias({ userId: 'u' })`,
  'settings without a write key': `new Analytics({ host: 'https://example.com' })`,
  'a setting that does not exist': `new Analytics({ writeKey: 'k', flushSize: 20 })`,
  'an array as properties': `analytics.track({ userId: 'u', event: 'e', properties: [1] })`,
  'a Map as properties': `analytics.track({ userId: 'u', event: 'e', properties: new Map([['a', 1]]) })`,
  'a function as properties': `analytics.track({ userId: 'u', event: 'e', properties: () => ({}) })`,
  'a Date as properties': `analytics.track({ userId: 'u', event: 'e', properties: new Date() })`,
  'a Set as traits': `analytics.identify({ userId: 'u', traits: new Set([1]) })`,
  'an array as context': `analytics.track({ userId: 'u', event: 'e', context: ['ip'] })`,
  'an array as integrations': `analytics.track({ userId: 'u', event: 'e', integrations: ['CRM'] })`,
  'text as a trait that is an object': `analytics.identify({ userId: 'u', traits: { address: 'Zurich' } })`,
  'an event that is never emitted': `analytics.on('trakc', () => {})`,
}

const PLAN = `import { type InferEvents, redact, sample, type TrackingPlan, trackingPlan } from 'trackpost/plugins'
import { type } from 'arktype'
import * as v from 'valibot'
import { z } from 'zod'
const plan = trackingPlan({
  'Order Completed': z.object({ total: z.number(), currency: z.string().default('EUR') }),
  'Signed Up': v.object({ plan: v.picklist(['free', 'pro']) }),
  'Cart Shared': type({ 'note?': 'string', items: 'number' }),
  'Cart Viewed': z.undefined(),
}, { onViolation: 'drop' })
type Events = InferEvents<typeof plan>
declare const planned: Analytics<Events>
export { redact, sample, z, v, type }
export type { TrackingPlan, Events }
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export declare function same<A, B>(yes: Same<A, B>): void
`

/** Must compile, after PLAN. */
const ACCEPTED_PLAN: Record<string, string> = {
  'the events of a plan': `same<Events, {
      'Order Completed': { total: number; currency?: string | undefined }
      'Signed Up': { plan: 'free' | 'pro' }
      'Cart Shared': { items: number; note?: string }
      'Cart Viewed': undefined
    }>(true)`,
  'calls that follow the plan': `
    planned.track({ userId: 'u', event: 'Order Completed', properties: { total: 1 } })
    planned.track({ userId: 'u', event: 'Signed Up', properties: { plan: 'pro' } })
    planned.track({ userId: 'u', event: 'Cart Shared', properties: { items: 1 } })
    planned.track({ userId: 'u', event: 'Cart Viewed' })`,
  'plugins, registered': `
    const plugins: Plugin[] = [plan, redact({ keys: ['a', /b/] }), sample({ rate: 1, by: ({ groupId }) => groupId })]
    void planned.register(...plugins)`,
  'a plan from a table': `
    const table: Record<string, z.ZodType<object>> = {}
    const loose: TrackingPlan = trackingPlan(table)
    console.log(loose.schemas)`,
}

const REFUSED_PLAN: Record<string, string> = {
  'properties that do not follow the plan': `
    planned.track({ userId: 'u', event: 'Order Completed', properties: { total: '1' } })`,
  'an event that is not in the plan': `planned.track({ userId: 'u', event: 'Order Complete' })`,
  'a schema of text': `trackingPlan({ a: z.string() })`,
  'a value that is not a schema': `trackingPlan({ a: { parse: () => ({}) } })`,
  'another choice': `trackingPlan({}, { onViolation: 'warn' })`,
  'a sample without a rate': `sample({ by: ({ groupId }) => groupId })`,
}

const HEADER = `import { Analytics, Context, FetchHTTPClient, type FlushSummary, type HTTPResponse, type Plugin, type ScopedTracker, type Tracker } from 'trackpost'
import { Analytics as CompatAnalytics, type CompatData } from 'trackpost/compat'
declare const analytics: Analytics
export { Analytics, CompatAnalytics, Context, FetchHTTPClient, type CompatData, type FlushSummary, type HTTPResponse, type Plugin, type ScopedTracker, type Tracker }\n`

let project: Project
beforeAll(async () => {
  project = await createProject()
  for (const name of ['zod', 'valibot', 'arktype'])
    await symlink(join(REPOSITORY, 'node_modules', name), join(project.folder, 'node_modules', name))
})
afterAll(() => project?.remove())

test('calls and values of users compile, and mistakes do not, with an error that says why', async () => {
  const accepted = { ...ACCEPTED, ...ACCEPTED_SHAPES, ...ACCEPTED_NAMES, ...ACCEPTED_TYPED }
  const typed = Object.entries(REFUSED_TYPED).map(([name, [snippet]]) => [name, `${TYPED}\n${snippet}`])

  const planned = Object.entries({ ...ACCEPTED_PLAN, ...REFUSED_PLAN }).map(([name, one]) => [
    name,
    PLAN + one,
  ])

  const complaints = await compileSnippets(
    project,
    'snippet',
    HEADER,
    { ...accepted, ...REFUSED, ...Object.fromEntries([...typed, ...planned]) },
    ['node'],
  )

  const refused = Object.keys(complaints).filter((name) => complaints[name] !== '')
  expect({ refused, complaints }).toEqual({
    refused: Object.keys({ ...REFUSED, ...REFUSED_TYPED, ...REFUSED_PLAN }),
    complaints,
  })
  for (const [name, [, mentions]] of Object.entries(REFUSED_TYPED)) {
    expect(complaints[name], name).toContain(mentions)
  }
})

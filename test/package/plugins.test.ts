import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Receiver, startReceiver } from '../../examples/receiver.mjs'
import { runNode, WRITE_KEY } from '../examples/run-node.ts'
import { compileSnippets } from './compile-snippets.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

let project: Project
let receiver: Receiver

beforeAll(async () => {
  project = await createProject()
  for (const name of ['zod', 'valibot', 'arktype', '@standard-schema']) {
    await symlink(join(REPOSITORY, 'node_modules', name), join(project.folder, 'node_modules', name))
  }
})
afterAll(() => project?.remove())
beforeEach(async () => {
  receiver = await startReceiver({ writeKey: WRITE_KEY })
})
afterEach(() => receiver.close())

/** The schema of the tracking plan is written by hand, without a schema library. */
const PROGRAM = `
const total = {
  '~standard': {
    version: 1,
    vendor: 'own',
    validate: async ({ total }) =>
      typeof total === 'number' ? { value: { total } } : { issues: [{ message: 'no number', path: ['total'] }] },
  },
}
const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY, host: process.env.TRACKPOST_HOST })
const told = []
analytics.on('error', ({ reason }) => told.push(reason.code + ': ' + reason.message))
analytics.on('warning', ({ reason }) => told.push(...violationsOf(reason).map(({ path }) => 'warning: ' + path)))
analytics.register(
  rename({ bought: 'Order Completed' }),
  filter(({ userId }) => userId !== 'bot'),
  sample({ rate: 1 }),
  trackingPlan({ 'Order Completed': total }, { unknownEvents: 'drop' }),
  redact({ keys: ['email'], patterns: [/\\d+-\\d+/] }),
)
const context = { email: 'zoe@example.com', phone: 'call 044-1234567' }
analytics.track({ userId: 'zoe', event: 'bought', properties: { total: 5, note: 'x' }, context })
analytics.track({ userId: 'zoe', event: 'bought', properties: { total: '5' }, context })
analytics.track({ userId: 'zoe', event: 'sold', context })
analytics.page({ userId: 'bot', context })
analytics.group({ userId: 'zoe', groupId: '12-34', context })
analytics.closeAndFlush().then((summary) => console.log(JSON.stringify({ summary, told: told.sort() })))
`
const ESM = `import { Analytics } from 'trackpost'
import { filter, redact, rename, sample, trackingPlan, violationsOf } from 'trackpost/plugins'
`
const COMMONJS = `const { Analytics } = require('trackpost')
const { filter, redact, rename, sample, trackingPlan, violationsOf } = require('trackpost/plugins')
`

test.each([
  ['plugins.mjs', ESM],
  ['plugins.cjs', COMMONJS],
])('the plugins of the installed package work together, from %s', async (name, header) => {
  const path = await project.write(name, header + PROGRAM)

  const exit = await runNode([path], { TRACKPOST_WRITE_KEY: WRITE_KEY, TRACKPOST_HOST: receiver.url })

  expect(exit).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(exit.stdout)).toEqual({
    summary: { delivered: 3, failed: 2, pending: 0 },
    told: [
      "plugin: the plugin 'filter' dropped the event: the filter refused it",
      "plugin: the plugin 'tracking-plan' dropped the event: 'sold' is not in the tracking plan",
      'warning: total',
    ],
  })
  const context = { email: '[redacted]', phone: 'call [redacted]' }
  const byTotal = receiver.events.filter(({ event }) => event === 'Order Completed')
  expect(byTotal.map(({ properties }) => properties)).toEqual([{ total: 5 }, { total: '5' }])
  expect(receiver.events.filter(({ type }) => type === 'group')).toMatchObject([{ groupId: '[redacted]' }])
  for (const event of receiver.events) expect(event.context).toMatchObject(context)
})

const HEADER = `import { Analytics, type Plugin } from 'trackpost'
import { filter, type InferEvents, redact, rename, sample, type StandardSchema, type TrackingPlan, trackingPlan } from 'trackpost/plugins'
import type { StandardSchemaV1 } from '@standard-schema/spec'
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
declare const analytics: Analytics<Events>
export { Analytics, filter, redact, rename, sample, z, v, type }
export type { Plugin, StandardSchema, StandardSchemaV1, TrackingPlan, Events }
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
export declare function same<A, B>(yes: Same<A, B>): void
`

const ACCEPTED: Record<string, string> = {
  'the events of a plan': `same<Events, {
      'Order Completed': { total: number; currency?: string | undefined }
      'Signed Up': { plan: 'free' | 'pro' }
      'Cart Shared': { items: number; note?: string }
      'Cart Viewed': undefined
    }>(true)`,
  'calls that follow the plan': `
    analytics.track({ userId: 'u', event: 'Order Completed', properties: { total: 1 } })
    analytics.track({ userId: 'u', event: 'Signed Up', properties: { plan: 'pro' } })
    analytics.track({ userId: 'u', event: 'Cart Shared', properties: { items: 1 } })
    analytics.track({ userId: 'u', event: 'Cart Viewed' })`,
  'plugins, registered': `
    const plugins: Plugin[] = [plan, redact({ keys: ['a', /b/] }), sample({ rate: 1, by: ({ groupId }) => groupId })]
    void analytics.register(...plugins, rename({ a: 'b' }), filter(async (event) => event.type === 'track'))`,
  'a plan from a table': `
    const table: Record<string, z.ZodType<object>> = {}
    const loose: TrackingPlan = trackingPlan(table)
    console.log(loose.schemas)`,
  'the types of a schema agree with those of the standard': `
    const ours = {} as StandardSchema<{ a: number }, { a: string }>
    const theirs: StandardSchemaV1<{ a: number }, { a: string }> = ours
    const back: StandardSchema<{ a: number }, { a: string }> = theirs
    console.log(back)`,
}

const REFUSED: Record<string, string> = {
  'properties that do not follow the plan': `
    analytics.track({ userId: 'u', event: 'Order Completed', properties: { total: '1' } })`,
  'an event that is not in the plan': `analytics.track({ userId: 'u', event: 'Order Complete' })`,
  'a schema of text': `trackingPlan({ a: z.string() })`,
  'a value that is not a schema': `trackingPlan({ a: { parse: () => ({}) } })`,
  'another choice': `trackingPlan({}, { onViolation: 'warn' })`,
  'a sample without a rate': `sample({ by: 'user' })`,
  'a filter that returns nothing': `filter(() => {})`,
}

test('the types of plans, schemas and plugins are exact', async () => {
  const complaints = await compileSnippets(project, 'plan', HEADER, { ...ACCEPTED, ...REFUSED })

  const refused = Object.keys(complaints).filter((name) => complaints[name] !== '')
  expect({ refused, complaints }).toEqual({ refused: Object.keys(REFUSED), complaints })
})

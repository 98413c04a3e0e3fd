import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileSnippets } from './compile-snippets.ts'
import { createProject, type Project, REPOSITORY } from './project.ts'

let project: Project

beforeAll(async () => {
  project = await createProject()
  for (const name of ['zod', 'valibot', 'arktype', '@standard-schema']) {
    await symlink(join(REPOSITORY, 'node_modules', name), join(project.folder, 'node_modules', name))
  }
})
afterAll(() => project?.remove())

const HEADER = `import { Analytics, type Plugin } from 'trackpost'
import { type InferEvents, redact, sample, type StandardSchema, type TrackingPlan, trackingPlan } from 'trackpost/plugins'
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
export { Analytics, redact, sample, z, v, type }
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
    void analytics.register(...plugins)`,
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
  'a sample without a rate': `sample({ by: ({ groupId }) => groupId })`,
}

test('the types of plans, schemas and plugins are exact', async () => {
  const complaints = await compileSnippets(project, 'plan', HEADER, { ...ACCEPTED, ...REFUSED })

  const refused = Object.keys(complaints).filter((name) => complaints[name] !== '')
  expect({ refused, complaints }).toEqual({ refused: Object.keys(REFUSED), complaints })
})

import type { Ajv2020 } from 'ajv/dist/2020.js'
import { isObject } from '../json/is-object.ts'

/** The keys and array indexes that lead to a part of a plan. */
export type Path = readonly (string | number)[]

export interface PlanMistake {
  readonly path: Path
  readonly message: string
}

/** Formats a path as `/track/Order Completed/properties/total`; an empty path gives `the plan`. @see RFC 6901 */
export function pointer(path: Path): string {
  const keys = path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`)
  return path.length === 0 ? 'the plan' : keys.join('')
}

/** Decodes one key of a JSON Pointer. */
export function unescaped(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** The kinds of events with a schema for each name, and with one schema. */
export const NAMED = ['track', 'page', 'screen'] as const
export const BY_KIND = ['identify', 'group'] as const
const PARTS: readonly string[] = [
  ...['$schema', '$id', 'title', 'description', 'additionalEvents'],
  ...NAMED,
  ...BY_KIND,
]

/** Returns the first mistake of a plan: what is no part of a plan, or no JSON Schema. */
export function findPlanMistake(ajv: Ajv2020, plan: unknown): PlanMistake | undefined {
  if (!isObject(plan)) return { path: [], message: 'expected an object with track' }
  const strange = Object.keys(plan).find((key) => !PARTS.includes(key))
  if (strange !== undefined)
    return { path: [strange], message: `this is not a part of a plan; expected one of ${PARTS.join(', ')}` }
  for (const kind of NAMED) {
    const schemas = plan[kind] ?? {}
    if (!isObject(schemas)) return { path: [kind], message: 'expected an object: a schema for each name' }
    for (const [name, schema] of Object.entries(schemas)) {
      const mistake = findSchemaMistake(ajv, schema, [kind, name])
      if (mistake !== undefined) return mistake
    }
  }
  for (const kind of BY_KIND) {
    const mistake = kind in plan ? findSchemaMistake(ajv, plan[kind], [kind]) : undefined
    if (mistake !== undefined) return mistake
  }
  return undefined
}

/**
 * Returns the first mistake of a schema, which is read as draft 2020-12 whatever its `$schema` says.
 *
 * @param at The path of the schema in the plan.
 */
function findSchemaMistake(ajv: Ajv2020, schema: unknown, at: Path): PlanMistake | undefined {
  if (!isObject(schema) && typeof schema !== 'boolean')
    return { path: at, message: 'expected a JSON Schema: an object' }
  const { $schema: _, ...rest } = isObject(schema) ? schema : ({} as Record<string, unknown>)
  if (ajv.validateSchema(rest) === true) return undefined
  const [error] = ajv.errors ?? []
  const keys = (error?.instancePath ?? '').split('/').slice(1)
  const path = keys.map((key) => unescaped(key))
  const { allowedValues } = (error?.params ?? {}) as { allowedValues?: readonly unknown[] }
  const choice = allowedValues === undefined ? '' : `: ${allowedValues.join(', ')}`
  return { path: [...at, ...path], message: `${error?.message ?? 'this is not a JSON Schema'}${choice}` }
}

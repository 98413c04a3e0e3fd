import type { Ajv2020 } from 'ajv/dist/2020.js'

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

/**
 * Returns the first mistake of a schema, which is read as draft 2020-12 whatever its `$schema` says.
 *
 * @param at The path of the schema in the plan.
 */
export function findSchemaMistake(ajv: Ajv2020, schema: unknown, at: Path): PlanMistake | undefined {
  const isObject = typeof schema === 'object' && schema !== null && !Array.isArray(schema)
  if (!isObject && typeof schema !== 'boolean')
    return { path: at, message: 'expected a JSON Schema: an object' }
  const { $schema: _, ...rest } = isObject ? (schema as Record<string, unknown>) : {}
  if (ajv.validateSchema(rest) === true) return undefined
  const [error] = ajv.errors ?? []
  const keys = (error?.instancePath ?? '').split('/').slice(1)
  const path = keys.map((key) => unescaped(key))
  const { allowedValues } = (error?.params ?? {}) as { allowedValues?: readonly unknown[] }
  const choice = allowedValues === undefined ? '' : `: ${allowedValues.join(', ')}`
  return { path: [...at, ...path], message: `${error?.message ?? 'this is not a JSON Schema'}${choice}` }
}

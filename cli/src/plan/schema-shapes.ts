import type { JSONSchema } from 'json-schema-to-typescript'
import { type Path, unescaped } from '../../../collector/src/plan/mistake.ts'
import { isObject } from '../import/json.ts'
import type { PlanFile, Schema } from './plan-file.ts'

/** The names of the types that {@link createTypes} generates itself. */
export const TYPE_NAMES = {
  root: 'Plan',
  events: 'Events',
  user: 'UserTraits',
  group: 'GroupTraits',
} as const

/**
 * A schema for json-schema-to-typescript. The library copies `tsType` into its output unchanged, so `tsType` must not contain
 * text from a plan.
 */
export type Shape = JSONSchema

const ANYTHING = 'unknown'
const ANY_OBJECT = '{ [k: string]: unknown }'
const NO_PROPERTIES = '{ [k: string]: never }'

const COMBINATIONS = ['allOf', 'anyOf', 'oneOf'] as const
const SHAPING = [
  ...['$ref', 'type', 'enum', 'const', 'properties', 'patternProperties', 'additionalProperties'],
  ...['items', 'prefixItems', ...COMBINATIONS],
]
const DEFINITIONS = new Set<unknown>(['$defs', 'definitions'])
const RESERVED = new Set(Object.values(TYPE_NAMES).map((name) => name.toLowerCase()))
/** Refused: `__proto__` sets the prototype in an object literal, and `hasOwnProperty` breaks the library. */
const UNUSABLE_NAMES = new Set(['__proto__', 'hasOwnProperty'])

/**
 * Reduces a schema to the part that types can express: lengths, patterns and conditions can be checked only at run time. A
 * schema that is referenced several times becomes one object, so that the library gives it one name and recognises recursion.
 *
 * An object type has only the properties that its schema lists, unless the schema allows others. The compiler then finds
 * misspelt names.
 */
export class SchemaShapes {
  readonly #file: PlanFile
  readonly #base: Path
  readonly #root: Schema
  readonly #made = new Map<object, Shape>()

  /** @param base The path of the schema in the plan. A reference `#` in the schema means this path. */
  constructor(file: PlanFile, base: Path, root: Schema) {
    this.#file = file
    this.#base = base
    this.#root = root
  }

  /**
   * @throws UsageError for a schema that does not describe objects, a reference without a target, or a property name that
   * cannot be used in a type.
   */
  make(): Shape {
    const root = this.#root
    if (typeof root === 'object' && 'type' in root && ![root['type']].flat().includes('object'))
      throw this.#file.refusal(
        [...this.#base, 'type'],
        'properties and traits are an object: expected "object"',
      )
    const shape = this.#make(root, this.#base)
    return shape.tsType === ANYTHING ? Object.assign(shape, { tsType: ANY_OBJECT }) : shape
  }

  #make(schema: Schema, path: Path): Shape {
    if (typeof schema === 'boolean') return { tsType: schema ? ANYTHING : 'never' }
    const known = this.#made.get(schema)
    if (known !== undefined) return known
    const shape: Shape = {}
    // Stored before its parts are made, since the parts may refer back to it.
    this.#made.set(schema, shape)
    Object.assign(shape, comment(schema), this.#shapeOf(schema, path))
    return shape
  }

  #shapeOf(schema: Exclude<Schema, boolean>, path: Path): Shape {
    const { $ref, ...others } = schema
    if (typeof $ref === 'string') {
      const target = this.#resolve($ref, [...path, '$ref'])
      return {
        allOf: isShaping(others) || 'required' in others ? [target, this.#shapeOf(others, path)] : [target],
      }
    }
    if (!isShaping(schema) && !('required' in schema)) return { tsType: ANYTHING }
    const shape: Shape = {}
    if ('const' in schema) shape.enum = [schema['const']] as never
    else if ('enum' in schema) shape.enum = schema['enum'] as never
    if ('type' in schema) shape.type = schema['type'] as never
    this.#addItems(schema, path, shape)
    for (const keyword of COMBINATIONS) {
      const schemas = schema[keyword] as readonly Schema[] | undefined
      // Leaves out lists without types, such as `oneOf: [{ required: ['a'] }, { required: ['b'] }]`.
      if (schemas?.some((one) => typeof one === 'boolean' || isShaping(one)))
        shape[keyword] = schemas.map((one, index) => this.#make(one, [...path, keyword, index]))
    }
    if ('enum' in shape) return shape
    return this.#addProperties(schema, path, shape)
  }

  #addItems(schema: Exclude<Schema, boolean>, path: Path, shape: Shape): void {
    const { items, prefixItems } = schema as { items?: Schema; prefixItems?: readonly Schema[] }
    const rest = items === undefined ? undefined : this.#make(items, [...path, 'items'])
    if (prefixItems === undefined) {
      if (rest !== undefined) shape.items = rest
      return
    }
    shape.items = prefixItems.map((one, index) => this.#make(one, [...path, 'prefixItems', index]))
    shape.additionalItems = items === false ? false : (rest ?? true)
  }

  #addProperties(schema: Exclude<Schema, boolean>, path: Path, shape: Shape): Shape {
    const { required = [], additionalProperties } = schema as {
      required?: readonly string[]
      additionalProperties?: Schema
    }
    const named = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>)
    const properties = named.map(([name, one]) => {
      const at = [...path, 'properties', name]
      this.#requireName(name, at)
      return [name, this.#make(one, at)] as const
    })
    const rest = Object.entries((schema['patternProperties'] ?? {}) as Record<string, Schema>).map(
      ([pattern, one]) => this.#make(one, [...path, 'patternProperties', pattern]),
    )
    if (additionalProperties !== undefined && typeof additionalProperties !== 'boolean')
      rest.push(this.#make(additionalProperties, [...path, 'additionalProperties']))
    const types = [schema['type'] ?? (isAboutObjects(schema) ? 'object' : [])].flat()
    if (!types.includes('object')) return shape
    for (const name of required) {
      if (named.some(([known]) => known === name)) continue
      this.#requireName(name, [...path, 'required'])
      properties.push([name, { tsType: ANYTHING }])
    }
    const isListed = properties.length > 0 || rest.length > 0
    const isCombined = COMBINATIONS.some((keyword) => keyword in shape)
    if (!isListed && types.length === 1 && !isCombined)
      return { tsType: additionalProperties === false ? NO_PROPERTIES : ANY_OBJECT }
    shape.properties = Object.fromEntries(properties)
    shape.required = [...required]
    const isOpen = additionalProperties === true || (named.length === 0 && additionalProperties === undefined)
    if (rest.length > 0) shape.additionalProperties = { anyOf: rest }
    else if (isListed || !isCombined) shape.additionalProperties = isOpen
    if (!isListed && isCombined) delete shape.properties
    return shape
  }

  #requireName(name: string, path: Path): void {
    if (UNUSABLE_NAMES.has(name))
      throw this.#file.refusal(path, `${name} cannot be the name of a property; rename it`)
  }

  #resolve($ref: string, path: Path, seen: ReadonlySet<string> = new Set()): Shape {
    const refuse = (message: string): Error => this.#file.refusal(path, `${JSON.stringify($ref)} ${message}`)
    if (!/^#(?:\/|$)/.test($ref)) throw refuse('does not lead into this schema; expected "#/$defs/..."')
    if (seen.has($ref)) throw refuse('leads back to itself')
    const keys = decoded($ref).split('/').slice(1).map(unescaped)
    let target: unknown = this.#root
    for (const key of keys) {
      const isThere = typeof target === 'object' && target !== null && Object.hasOwn(target, key)
      if (!isThere) throw refuse('leads nowhere: there is no such part of the schema')
      target = (target as Record<string, unknown>)[key]
    }
    if (typeof target !== 'boolean' && !isObject(target))
      throw refuse('leads to something that is not a schema')
    if (isObject(target) && typeof target['$ref'] === 'string' && !isShaping({ ...target, $ref: undefined }))
      return this.#resolve(target['$ref'], path, new Set([...seen, $ref]))
    const shape = this.#make(target, [...this.#base, ...keys])
    const name = DEFINITIONS.has(keys.at(-2)) ? (keys.at(-1) as string) : undefined
    if (name !== undefined && typeof target === 'object') shape.title = typeName(name)
    return shape
  }
}

/** A reference is the fragment of a URL, and so percent-encoded. */
function decoded($ref: string): string {
  try {
    return decodeURIComponent($ref)
  } catch {
    return $ref
  }
}

/** Renames a definition of the plan that has the name of one of the generated types. */
function typeName(name: string): string {
  return RESERVED.has(name.replace(/[^\w$]/g, '').toLowerCase()) ? `${name} definition` : name
}

/** Whether a type can express any part of a schema. */
function isShaping(schema: Exclude<Schema, boolean>): boolean {
  return SHAPING.some((keyword) => schema[keyword] !== undefined)
}

function isAboutObjects(schema: Exclude<Schema, boolean>): boolean {
  return ['properties', 'patternProperties', 'additionalProperties', 'required'].some((key) => key in schema)
}

function comment(schema: Exclude<Schema, boolean>): Shape {
  const { description, title, deprecated } = schema
  const text = [description, title].find((one) => typeof one === 'string' && one.trim() !== '')
  return {
    ...(text !== undefined && { description: String(text) }),
    ...(deprecated === true && { deprecated: true }),
  }
}

import type { FoundField, JsonType } from './infer.ts'

/** The part of JSON Schema that this module uses. */
export interface JsonSchema {
  type?: JsonType | JsonType[]
  format?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
}

interface Node {
  keys: readonly string[]
  field?: FoundField
  children: Map<string, Node>
}

/** Which keys all events have: `everywhere` if the fields were inferred from all; otherwise the paths that were asked for. */
export type Known = 'everywhere' | { required: ReadonlySet<string> }

/** A key is required only if all events have it, not just those from which the fields were inferred. */
export function schemaOf(fields: readonly FoundField[], known: Known): JsonSchema {
  const root: Node = { keys: [], children: new Map() }
  for (const field of fields) {
    let node = root
    for (const key of keysOf(field.path)) {
      let child = node.children.get(key)
      if (child === undefined) {
        child = { keys: [...node.keys, key], children: new Map() }
        node.children.set(key, child)
      }
      node = child
    }
    node.field = field
  }
  // The first key is `properties` or `traits`.
  const [top] = root.children.values()
  return { type: 'object', ...objectParts(top ?? root, known) }
}

/** The paths outside of arrays that all sampled events have. */
export function commonPaths(fields: readonly FoundField[]): string[][] {
  const paths = fields.filter(({ presence }) => presence === 1).map(({ path }) => keysOf(path))
  return paths.filter((path) => !path.includes('[]'))
}

function keysOf(path: string): string[] {
  const keys: string[] = []
  for (const match of path.matchAll(/"((?:[^"\\]|\\.)*)"|\[\]|[^.[\]"]+/g)) {
    keys.push(match[1] === undefined ? match[0] : match[1].replace(/\\(.)/g, '$1'))
  }
  return keys
}

function objectParts(node: Node, known: Known): Pick<JsonSchema, 'properties' | 'required'> {
  const properties: Array<[string, JsonSchema]> = []
  const required: string[] = []
  for (const [key, child] of node.children) {
    if (key === '[]') continue
    properties.push([key, nodeSchema(child, known)])
    if (child.field?.presence === 1 && isKnown(child.keys, known)) required.push(key)
  }
  return {
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  }
}

function isKnown(keys: readonly string[], known: Known): boolean {
  return known === 'everywhere' || known.required.has(JSON.stringify(keys))
}

function nodeSchema(node: Node, known: Known): JsonSchema {
  const types = merged(node.field?.types.map(({ type }) => type) ?? ['object'])
  const schema: JsonSchema =
    types.length === 1 && types[0] !== undefined ? { type: types[0] } : { type: types }
  const formats = new Set(
    node.field?.types.filter(({ type }) => type === 'string').map(({ format }) => format),
  )
  const [format] = formats
  if (formats.size === 1 && format !== undefined) schema.format = format
  if (types.includes('object')) Object.assign(schema, objectParts(node, known))
  const element = node.children.get('[]')
  if (types.includes('array') && element !== undefined) {
    schema.items =
      element.field === undefined
        ? { type: 'object', ...objectParts(element, known) }
        : nodeSchema(element, known)
  }
  return schema
}

function merged(types: readonly JsonType[]): JsonType[] {
  const distinct = [...new Set(types)]
  return distinct.includes('number') ? distinct.filter((type) => type !== 'integer') : distinct
}

import type { FoundField, JsonType } from './fields.ts'

/** The part of JSON Schema that the catalogue uses. */
export interface JsonSchema {
  type?: JsonType | JsonType[]
  format?: string
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
}

interface Node {
  field?: FoundField
  children: Map<string, Node>
}

export function schemaOf(fields: readonly FoundField[]): JsonSchema {
  const root: Node = { children: new Map() }
  for (const field of fields) {
    let node = root
    for (const key of keysOf(field.path)) {
      let child = node.children.get(key)
      if (child === undefined) {
        child = { children: new Map() }
        node.children.set(key, child)
      }
      node = child
    }
    node.field = field
  }
  // The first key is `properties` or `traits`.
  const [top] = root.children.values()
  return { type: 'object', ...objectParts(top ?? root) }
}

function keysOf(path: string): string[] {
  const keys: string[] = []
  for (const match of path.matchAll(/"((?:[^"\\]|\\.)*)"|\[\]|[^.[\]"]+/g)) {
    keys.push(match[1] === undefined ? match[0] : match[1].replace(/\\(.)/g, '$1'))
  }
  return keys
}

function objectParts(node: Node): Pick<JsonSchema, 'properties' | 'required'> {
  const properties: Array<[string, JsonSchema]> = []
  const required: string[] = []
  for (const [key, child] of node.children) {
    if (key === '[]') continue
    properties.push([key, nodeSchema(child)])
    if (child.field?.isRequired) required.push(key)
  }
  return {
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  }
}

function nodeSchema(node: Node): JsonSchema {
  const types = merged(node.field?.types.map(({ type }) => type) ?? ['object'])
  const schema: JsonSchema =
    types.length === 1 && types[0] !== undefined ? { type: types[0] } : { type: types }
  const formats = new Set(
    node.field?.types.filter(({ type }) => type === 'string').map(({ format }) => format),
  )
  const [format] = formats
  if (formats.size === 1 && format !== undefined) schema.format = format
  if (types.includes('object')) Object.assign(schema, objectParts(node))
  const element = node.children.get('[]')
  if (types.includes('array') && element !== undefined) {
    schema.items =
      element.field === undefined ? { type: 'object', ...objectParts(element) } : nodeSchema(element)
  }
  return schema
}

function merged(types: readonly JsonType[]): JsonType[] {
  const distinct = [...new Set(types)]
  return distinct.includes('number') ? distinct.filter((type) => type !== 'integer') : distinct
}

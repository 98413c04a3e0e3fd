import { exactDigits, shortened } from '../json/exact-json.ts'
import { pathText } from '../search/syntax.ts'

export type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'array' | 'object'

export interface FoundType {
  type: JsonType
  format?: 'date-time'
  share: number
  count: number
  example: unknown
  exampleId: string
}

/** The values that were found at one path of the properties or traits. */
export interface FoundField {
  path: string
  /** Share of the events that have the path. For a path inside an array, the share of the objects in the array. */
  presence: number
  /** The most frequent type. */
  type: JsonType
  isInconsistent: boolean
  types: FoundType[]
  /** Up to five distinct values. */
  values: unknown[]
}

interface Entry {
  keys: string[]
  count: number
  types: Map<
    string,
    { type: JsonType; format?: 'date-time'; count: number; example: unknown; exampleId: string }
  >
  values: Map<string, unknown>
}

const MAX_PATHS = 500
const MAX_DEPTH = 6
const MAX_VALUES = 5
const MAX_SHOWN = 200
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

export class Inference {
  readonly #entries = new Map<string, Entry>()
  /** The objects that were found in the arrays at each path: their number, and the event of the first. */
  readonly #objects = new Map<string, { count: number; exampleId: string }>()
  #samples = 0

  get samples(): number {
    return this.#samples
  }

  /** @param root `properties` or `traits`. */
  add(root: string, data: unknown, id: string): void {
    this.#samples++
    if (typeof data === 'object' && data !== null) this.#addObject(data, [root], id)
  }

  #addObject(data: object, path: readonly string[], id: string): void {
    for (const [key, value] of Object.entries(data)) this.#addValue(value, [...path, key], id)
  }

  #addValue(value: unknown, keys: string[], id: string): void {
    const entry = this.#entryFor(keys)
    if (entry === undefined) return
    entry.count++
    const { type, format } = typeOf(value)
    const typeKey = format ?? type
    const known = entry.types.get(typeKey)
    const example = type === 'array' || type === 'object' ? undefined : shortened(value, MAX_SHOWN)
    if (known === undefined) {
      entry.types.set(typeKey, {
        type,
        ...(format === undefined ? {} : { format }),
        count: 1,
        example,
        exampleId: id,
      })
    } else known.count++
    if (example !== undefined && entry.values.size < MAX_VALUES)
      entry.values.set(JSON.stringify(example), example)
    if (keys.length > MAX_DEPTH) return
    if (type === 'object') this.#addObject(value as object, keys, id)
    if (type !== 'array') return
    const inside = [...keys, '[]']
    const array = keyOf(inside)
    for (const element of value as unknown[]) {
      if (typeOf(element).type !== 'object') this.#addValue(element, inside, id)
      else {
        const objects = this.#objects.get(array)
        if (objects === undefined) this.#objects.set(array, { count: 1, exampleId: id })
        else objects.count++
        this.#addObject(element as object, inside, id)
      }
    }
  }

  #entryFor(keys: string[]): Entry | undefined {
    const key = keyOf(keys)
    const known = this.#entries.get(key)
    if (known !== undefined) return known
    // Limited, because an object whose keys are ids can have any number of paths.
    if (this.#entries.size >= MAX_PATHS) return undefined
    const entry: Entry = { keys, count: 0, types: new Map(), values: new Map() }
    this.#entries.set(key, entry)
    return entry
  }

  /** How often a path could have occurred: once in each object of its array or, outside of arrays, once in each event. */
  #countAround(keys: readonly string[]): number {
    const array = keys.lastIndexOf('[]', keys.length - 2)
    return this.#objects.get(keyOf(keys.slice(0, array + 1)))?.count ?? Math.max(1, this.#samples)
  }

  fields(): FoundField[] {
    return [...this.#entries.values()]
      .map(({ keys, count: ownCount, types, values }): FoundField => {
        const found = [...types.values()]
        // Objects beside other elements of an array.
        const objects = this.#objects.get(keyOf(keys))
        if (objects !== undefined) found.push({ type: 'object', ...objects, example: undefined })
        found.sort((a, b) => b.count - a.count)
        const count = ownCount + (objects?.count ?? 0)
        return {
          path: fieldPath(keys),
          presence: presenceOf(count, this.#countAround(keys)),
          type: found[0]?.type ?? 'null',
          isInconsistent: isInconsistent(found.map(({ type }) => type)),
          types: found.map(({ example, ...type }) => ({
            ...type,
            share: round(type.count / count),
            example: example ?? null,
          })),
          values: [...values.values()],
        }
      })
      .sort((a, b) => (a.path < b.path ? -1 : 1))
  }
}

function keyOf(keys: readonly string[]): string {
  return keys.join('\u0000')
}

/** Rounded, but 1 only if it is everywhere. */
function presenceOf(count: number, around: number): number {
  return count >= around ? 1 : Math.min(0.9999, round(count / around))
}

function round(share: number): number {
  return Math.round(share * 1e4) / 1e4
}

/** Formats a path as in a search, with array elements marked: `properties.items[].id`. */
function fieldPath(keys: readonly string[]): string {
  return pathText(keys).replaceAll('.[]', '[]')
}

function typeOf(value: unknown): { type: JsonType; format?: 'date-time' } {
  if (value === null) return { type: 'null' }
  if (Array.isArray(value)) return { type: 'array' }
  const digits = exactDigits(value)
  if (digits !== undefined) return { type: /^-?\d+$/.test(digits) ? 'integer' : 'number' }
  switch (typeof value) {
    case 'number':
      return { type: Number.isInteger(value) ? 'integer' : 'number' }
    case 'boolean':
      return { type: 'boolean' }
    case 'string':
      return DATE_TIME.test(value) ? { type: 'string', format: 'date-time' } : { type: 'string' }
    default:
      return { type: 'object' }
  }
}

/** Integers count as numbers, and null may occur beside one other type. */
function isInconsistent(types: readonly JsonType[]): boolean {
  const distinct = new Set(types.map((type) => (type === 'integer' ? 'number' : type)))
  distinct.delete('null')
  return distinct.size > 1
}

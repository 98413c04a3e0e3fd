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
  count: number
  types: Map<
    string,
    { type: JsonType; format?: 'date-time'; count: number; example: unknown; exampleId: string }
  >
  values: Map<string, unknown>
}

/**
 * The paths are a tree. A map by whole paths would have to read the path of every value, and a client chooses the length of its
 * keys.
 */
interface Path {
  keys: readonly string[]
  parent: Path | undefined
  children: Map<string, Path>
  entry?: Entry
  /** The objects that were found in the array whose elements have this path: their number, and the event of the first. */
  objects?: { count: number; exampleId: string }
}

const MAX_PATHS = 500
const MAX_DEPTH = 6
const MAX_VALUES = 5
const MAX_SHOWN = 200
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

export class Inference {
  readonly #top: Path = { keys: [], parent: undefined, children: new Map() }
  readonly #found: Array<Path & { entry: Entry }> = []
  #samples = 0

  get samples(): number {
    return this.#samples
  }

  /** @param root `properties` or `traits`. */
  add(root: string, data: unknown, id: string): void {
    this.#samples++
    if (typeof data === 'object' && data !== null) this.#addObject(data, childOf(this.#top, root), id)
  }

  #addObject(data: object, path: Path, id: string): void {
    for (const [key, value] of Object.entries(data)) this.#addValue(value, path, key, id)
  }

  #addValue(value: unknown, parent: Path, key: string, id: string): void {
    const path = this.#pathTo(parent, key)
    if (path === undefined) return
    const { entry } = path
    entry.count++
    const { type, format } = typeOf(value)
    const typeKey = format ?? type
    const known = entry.types.get(typeKey)
    const example = type === 'array' || type === 'object' ? undefined : shortened(value)
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
    if (path.keys.length > MAX_DEPTH) return
    if (type === 'object') this.#addObject(value as object, path, id)
    if (type !== 'array') return
    const inside = childOf(path, '[]')
    for (const element of value as unknown[]) {
      if (typeOf(element).type !== 'object') this.#addValue(element, path, '[]', id)
      else {
        inside.objects ??= { count: 0, exampleId: id }
        inside.objects.count++
        this.#addObject(element as object, inside, id)
      }
    }
  }

  #pathTo(parent: Path, key: string): (Path & { entry: Entry }) | undefined {
    const known = parent.children.get(key)
    if (known !== undefined && hasEntry(known)) return known
    // Limited, because an object whose keys are ids can have any number of paths.
    if (this.#found.length >= MAX_PATHS) return undefined
    const path = Object.assign(childOf(parent, key), {
      entry: { count: 0, types: new Map(), values: new Map() },
    })
    this.#found.push(path)
    return path
  }

  /** How often a path could have occurred: once in each object of its array or, outside of arrays, once in each event. */
  #countAround({ parent }: Path): number {
    let around = parent
    while (around !== undefined && around.keys.at(-1) !== '[]') around = around.parent
    return around?.objects?.count ?? Math.max(1, this.#samples)
  }

  fields(): FoundField[] {
    return this.#found
      .map((path): FoundField => {
        const { keys, objects } = path
        const { count: ownCount, types, values } = path.entry
        const found = [...types.values()]
        // Objects beside other elements of an array.
        if (objects !== undefined) found.push({ type: 'object', ...objects, example: undefined })
        found.sort((a, b) => b.count - a.count)
        const count = ownCount + (objects?.count ?? 0)
        return {
          path: fieldPath(keys),
          presence: presenceOf(count, this.#countAround(path)),
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

function childOf(parent: Path, key: string): Path {
  const known = parent.children.get(key)
  if (known !== undefined) return known
  const child: Path = { keys: [...parent.keys, key], parent, children: new Map() }
  parent.children.set(key, child)
  return child
}

function hasEntry(path: Path): path is Path & { entry: Entry } {
  return path.entry !== undefined
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

function shortened(value: unknown): unknown {
  return typeof value === 'string' ? value.slice(0, MAX_SHOWN) : value
}

/** Integers count as numbers, and null may occur beside one other type. */
function isInconsistent(types: readonly JsonType[]): boolean {
  const distinct = new Set(types.map((type) => (type === 'integer' ? 'number' : type)))
  distinct.delete('null')
  return distinct.size > 1
}

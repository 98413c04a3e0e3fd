import { eachField, type ValueType } from '../changes/shape.ts'
import { type NameTally, type PathTally, roomFor } from '../changes/tally.ts'
import type { Message } from '../record.ts'

/** The types of JSON Schema. */
export type JsonType = 'string' | 'number' | 'integer' | 'boolean' | 'null' | 'array' | 'object'
export type FoundField = ReturnType<typeof fieldsOf>[number]

const MAX_VALUES = 5
const MAX_SHOWN = 200
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

const JSON_TYPES: Readonly<Record<ValueType, JsonType>> = {
  text: 'string',
  number: 'number',
  boolean: 'boolean',
  list: 'array',
  object: 'object',
  null: 'null',
}

interface Read {
  /** How often: more than once in an event with a list. */
  times: number
  objects: number
  examples: Map<ValueType, unknown>
  values: Map<string, unknown>
  areIntegers: boolean
  areDates: boolean
}

export class FieldValues {
  readonly #byPath = new Map<string, Read>()
  #events = 0

  get events(): number {
    return this.#events
  }

  add(kind: string, message: Message): void {
    this.#events++
    eachField(kind, message, (path, type, _parent, value) => {
      let read = this.#byPath.get(path)
      if (read === undefined) {
        read = {
          times: 0,
          objects: 0,
          examples: new Map(),
          values: new Map(),
          areIntegers: true,
          areDates: true,
        }
        this.#byPath.set(path, read)
      }
      read.times++
      if (type === 'object') read.objects++
      if (type === 'object' || type === 'list') return
      const shown = typeof value === 'string' ? value.slice(0, MAX_SHOWN) : value
      if (!read.examples.has(type)) read.examples.set(type, shown)
      if (read.values.size < MAX_VALUES) read.values.set(JSON.stringify(shown), shown)
      if (typeof value === 'number') read.areIntegers &&= Number.isInteger(value)
      if (typeof value === 'string') read.areDates &&= DATE_TIME.test(value)
    })
  }

  at(path: string): Read | undefined {
    return this.#byPath.get(path)
  }
}

/** The paths of a name. Objects in a list are no path of their own, unless other elements are beside them. */
export function pathsOf({ paths }: NameTally): Array<[path: string, tally: PathTally]> {
  return [...paths].filter(([path, { types }]) => {
    return !path.endsWith('[]') || types.size > 1 || !types.has('object')
  })
}

/** Null may occur beside one other type. */
export function isInconsistent({ types }: PathTally): boolean {
  return [...types.keys()].filter((type) => type !== 'null').length > 1
}

/** @param values Of at least one event with each type of each path. */
export function fieldsOf(tally: NameTally, values: FieldValues) {
  return pathsOf(tally)
    .map(([path, own]) => {
      const around = Math.max(1, roomFor(tally, own.parent))
      const read = values.at(path)
      const types = [...own.types].sort(([, a], [, b]) => b.count - a.count)
      const all = types.reduce((sum, [, { count }]) => sum + count, 0)
      const found = types.map(([type, { count, newest }]) => {
        return {
          ...namedType(type, read),
          share: rounded(count / all),
          count,
          example: read?.examples.get(type) ?? null,
          exampleId: String(newest),
        }
      })
      return {
        path,
        presence: own.count >= around ? 1 : Math.min(0.9999, rounded(own.count / around)),
        isRequired: own.count >= around && isInEachObject(path, own, tally, values),
        type: found[0]?.type ?? 'null',
        isInconsistent: isInconsistent(own),
        types: found,
        values: valuesOf(read),
      }
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** In a list, an event may have objects with the path and others without it: that is known only if all events were read. */
function isInEachObject(path: string, { parent }: PathTally, tally: NameTally, values: FieldValues): boolean {
  if (!path.includes('[]')) return true
  return values.events >= tally.count && values.at(path)?.times === values.at(parent)?.objects
}

function namedType(type: ValueType, read: Read | undefined): { type: JsonType; format?: 'date-time' } {
  if (type === 'number' && read?.areIntegers) return { type: 'integer' }
  if (type === 'text' && read?.areDates) return { type: 'string', format: 'date-time' }
  return { type: JSON_TYPES[type] }
}

/** One of each type first: the newest may all have the same. */
function valuesOf(read: Read | undefined): unknown[] {
  const all = [...(read?.examples.values() ?? []), ...(read?.values.values() ?? [])]
  return [...new Map(all.map((value) => [JSON.stringify(value), value])).values()].slice(0, MAX_VALUES)
}

function rounded(share: number): number {
  return Math.round(share * 1e4) / 1e4
}

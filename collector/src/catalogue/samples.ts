import type { Message } from '../record.ts'
import { type FoundField, Inference } from './infer.ts'
import { type JsonSchema, type Known, schemaOf } from './schema.ts'

/** The inferred schema of the events with one key, for example `track:Order Completed`. */
export interface EventSchema {
  key: string
  type: string
  name: string
  schema: JsonSchema
}

const NAMED: ReadonlySet<string> = new Set(['track', 'page', 'screen'])

/** Whether events of this kind are distinguished by their names. */
export function isNamed(type: string): boolean {
  return NAMED.has(type)
}

export function keyOf(type: string, name: string | null): string {
  return isNamed(type) ? `${type}:${name ?? ''}` : type
}

/** Callers may write a name alone, which means a `track` event. */
export function readKey(key: string): { type: string; name: string } {
  const [, type, name] = /^(track|page|screen):([\s\S]*)$/.exec(key) ?? []
  if (type !== undefined) return { type, name: name ?? '' }
  return ['identify', 'group', 'alias'].includes(key) ? { type: key, name: '' } : { type: 'track', name: key }
}

/** The structure of the events with one key. */
export class Shape {
  readonly #inference = new Inference()
  known: Known = { required: new Set() }

  add(kind: string, message: Message, id: string): void {
    const root = isNamed(kind) ? 'properties' : 'traits'
    this.#inference.add(root, message[root], id)
  }

  get sampled(): number {
    return this.#inference.samples
  }

  get fields(): FoundField[] {
    return this.#inference.fields()
  }

  get schema(): JsonSchema {
    return schemaOf(this.fields, this.known)
  }

  /** Number of fields, and number of fields with contradicting types. */
  get counts(): { properties: number; inconsistent: number } {
    const { fields } = this
    return {
      properties: fields.length,
      inconsistent: fields.filter(({ isInconsistent }) => isInconsistent).length,
    }
  }
}

export class Samples {
  readonly #byKey = new Map<string, Shape>()
  readonly #ids = new Set<string>()

  get count(): number {
    return this.#ids.size
  }

  /** Ignores an event that was added before. */
  add(kind: string, name: string | null, message: Message, id: string): void {
    if (this.#ids.has(id)) return
    this.#ids.add(id)
    const key = keyOf(kind, name)
    const shape = this.#byKey.get(key) ?? new Shape()
    this.#byKey.set(key, shape)
    shape.add(kind, message, id)
  }

  shape(key: string): Shape | undefined {
    return this.#byKey.get(key)
  }
}

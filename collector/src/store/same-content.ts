import { parseExact } from '../json/exact-json.ts'
import { INHERITED_FIELDS, type InheritedField, type InheritedFields } from './inherited.ts'

/** Not compared: the collector adds or changes these fields, or the client sets them again on each attempt. */
const VOLATILE = ['receivedAt', 'sentAt', 'timestamp', '_metadata'] as const

/**
 * The maximum number of batches whose inherited fields are compared in one commit; those of further batches count as equal.
 * Otherwise a client with a thousand large batches could block the event loop.
 */
export const BATCHES_COMPARED = 16

export interface Content {
  body: string | null
  /** JSON text of `InheritedFields`. */
  inherited?: string | null | undefined
}

/**
 * Returns a function that tells whether two messages with the same messageId have the same content. The function ignores
 * `context.library`, the fields in `VOLATILE`, and the order of keys. A message whose content is no longer stored counts as the
 * same.
 *
 * The inherited fields of two batches are compared only once for all their messages.
 */
export function contentComparer(): (one: Content, other: Content) => boolean {
  const batches = new Map<string, Batch>()
  const batchOf = (text: string | null | undefined) => {
    const key = text || '{}'
    const batch = batches.get(key) ?? new Batch(key)
    batches.set(key, batch)
    return batch
  }
  return (one, other) => {
    if (!one.body || !other.body) return true
    if (one.body === other.body && (one.inherited || null) === (other.inherited || null)) return true
    return batchOf(one.inherited).isSame(
      parseExact(one.body) as Fields,
      batchOf(other.inherited),
      parseExact(other.body) as Fields,
    )
  }
}

type Fields = Record<string, unknown>
type Place = [field: InheritedField, key: string]

/** The inherited fields of a batch, and the keys in which they differ from those of other batches. */
class Batch {
  readonly #fields: InheritedFields
  readonly #differences = new Map<Batch, Place[]>()

  constructor(text: string) {
    this.#fields = parseExact(text) as InheritedFields
  }

  isSame(own: Fields, other: Batch, others: Fields): boolean {
    const isEqual = ([field, key]: Place) =>
      isLibrary(field, key) || this.#text(own, field, key) === other.#text(others, field, key)
    const ownPlaces = INHERITED_FIELDS.flatMap((field) =>
      [own[field], others[field]].flatMap((one) =>
        Object.keys(fieldsOf(one)).map((key): Place => [field, key]),
      ),
    )
    return (
      rest(own) === rest(others) && this.#differencesFrom(other).every(isEqual) && ownPlaces.every(isEqual)
    )
  }

  #text(own: Fields, field: InheritedField, key: string): string | undefined {
    const inner = fieldsOf(own[field])
    if (Object.hasOwn(inner, key)) return canonical(inner[key])
    const outer = this.#fields[field]
    return outer !== undefined && Object.hasOwn(outer, key) ? canonical(outer[key]) : undefined
  }

  #differencesFrom(other: Batch): Place[] {
    if (other === this) return []
    const known = this.#differences.get(other)
    if (known !== undefined) return known
    const found: Place[] = []
    for (const field of INHERITED_FIELDS) {
      const keys = new Set([this, other].flatMap((batch) => Object.keys(batch.#fields[field] ?? {})))
      for (const key of keys) {
        if (!isLibrary(field, key) && this.#text({}, field, key) !== other.#text({}, field, key))
          found.push([field, key])
      }
    }
    this.#differences.set(other, found)
    return found
  }
}

function isLibrary(field: string, key: string): boolean {
  return field === 'context' && key === 'library'
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function rest(message: Fields): string {
  const own = { ...message }
  for (const field of [...VOLATILE, ...INHERITED_FIELDS]) delete own[field]
  return canonical(own)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, sortedKeys)
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // `Object.fromEntries` defines own properties, so a key "__proto__" does not set the prototype.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

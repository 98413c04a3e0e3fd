import { stringifyExact, withExactNumbers } from '../json/exact-json.ts'
import { INHERITED_FIELDS, type InheritedField, type InheritedFields } from '../store/inherited.ts'

/** The fields that the items of one batch take over from it. */
export interface Inheritance {
  fields: InheritedFields
  /** The same as JSON, as it is kept. */
  text: string
  bytes: number
}

/**
 * Reads what a batch hands down; undefined when that is nothing.
 *
 * @param exact The same by `parseExact`, when it has numbers that JavaScript does not hold.
 */
export function inheritanceOf(
  batch: { [field in InheritedField]: unknown },
  exact?: unknown,
): Inheritance | undefined {
  const fields: InheritedFields = {}
  for (const field of INHERITED_FIELDS) {
    const value = batch[field]
    if (isFilled(value)) fields[field] = value
  }
  if (Object.keys(fields).length === 0) return undefined
  const text = exact === undefined ? JSON.stringify(fields) : stringifyExact(withExactNumbers(fields, exact))
  return { fields, text, bytes: Buffer.byteLength(text) }
}

function isFilled(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

import { type Inexact, stringifyExact, withExactNumbers } from '../json/exact-json.ts'
import { INHERITED_FIELDS, type InheritedField, type InheritedFields } from '../store/inherited.ts'

/** The fields that a batch passes on to its items. */
export interface Inheritance {
  fields: InheritedFields
  /** The fields as JSON, for the store. */
  text: string
  bytes: number
}

/**
 * Returns undefined if the batch passes on no fields.
 *
 * @param inexact The fields of the batch, if they have numbers that JavaScript cannot represent.
 */
export function inheritanceOf(
  batch: { [field in InheritedField]: unknown },
  inexact?: Inexact,
): Inheritance | undefined {
  const fields: InheritedFields = {}
  for (const field of INHERITED_FIELDS) {
    const value = batch[field]
    if (isFilled(value)) fields[field] = value
  }
  if (Object.keys(fields).length === 0) return undefined
  const text =
    inexact === undefined ? JSON.stringify(fields) : stringifyExact(withExactNumbers(fields, inexact.exact))
  return { fields, text, bytes: Buffer.byteLength(text) }
}

function isFilled(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

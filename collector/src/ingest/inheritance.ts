import { type Inexact, stringifyExact, withExactNumbers } from '../json/exact-json.ts'
import { INHERITED_FIELDS, type InheritedField, type InheritedFields } from '../store/inherited.ts'

/** The fields that a batch passes on to its items. */
export interface Inheritance {
  fields: InheritedFields
  /** The fields as JSON, for the store. */
  text: string
  bytes: number
  /** How many bytes the further messages of the batch may have, each with the fields that it inherits. */
  roomBytes: number
}

/** Messages that inherit the same fields could otherwise become thousands of times larger than their request. */
const MERGED_BYTES = 4_000_000
/** A large batch may become this many times larger. */
const MERGED_TIMES = 8

/** Whether a message fits into its batch and into the limit for a message, with the fields that it inherits. */
export function fits(inheritance: Inheritance | undefined, itemBytes: number, maxBytes: number): boolean {
  if (inheritance === undefined) return true
  const bytes = itemBytes + inheritance.bytes
  if (bytes > maxBytes || bytes > inheritance.roomBytes) return false
  inheritance.roomBytes -= bytes
  return true
}

/**
 * Returns undefined if the batch passes on no fields.
 *
 * @param bodyBytes Size of the decompressed body.
 * @param inexact The fields of the batch, if they have numbers that JavaScript cannot represent.
 */
export function inheritanceOf(
  batch: { [field in InheritedField]: unknown },
  bodyBytes: number,
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
  const roomBytes = Math.max(MERGED_BYTES, MERGED_TIMES * bodyBytes)
  return { fields, text, bytes: Buffer.byteLength(text), roomBytes }
}

function isFilled(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

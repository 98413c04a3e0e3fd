import { isObject } from '../json/is-object.ts'

/**
 * The fields of a batch that its messages inherit. They are merged one level deep: for each key, the value in the message replaces
 * the inherited value.
 */
export const INHERITED_FIELDS = ['context', 'integrations'] as const
export type InheritedField = (typeof INHERITED_FIELDS)[number]

/** The fields that a batch passes on to its items. */
export interface Inheritance {
  fields: { [field in InheritedField]?: Readonly<Record<string, unknown>> }
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
 */
export function inheritanceOf(
  batch: { [field in InheritedField]: unknown },
  bodyBytes: number,
): Inheritance | undefined {
  const fields: Inheritance['fields'] = {}
  for (const field of INHERITED_FIELDS) {
    const value = batch[field]
    if (isObject(value) && Object.keys(value).length > 0) fields[field] = value
  }
  if (Object.keys(fields).length === 0) return undefined
  const bytes = Buffer.byteLength(JSON.stringify(fields))
  return { fields, bytes, roomBytes: Math.max(MERGED_BYTES, MERGED_TIMES * bodyBytes) }
}

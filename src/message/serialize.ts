import { DeliveryError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import { snapshot } from './snapshot.ts'
import type { Message } from './types.ts'
import { byteLength } from './utf8.ts'

/**
 * Writes a message as JSON. If `JSON.stringify` throws because of a BigInt, a cycle or a getter, the message is copied with
 * {@link snapshot}, which replaces the bad value, so that the event is not lost. Lone surrogates, which UTF-8 cannot contain,
 * become U+FFFD.
 *
 * @param maxBytes Maximum bytes of the message. Default: 32,768 if it needs a snapshot, otherwise no limit.
 * @throws DeliveryError with the code `unserializable` when the snapshot cannot be written either; `too_large` when the message
 * has more than `maxBytes`.
 */
export function serialize(message: object, maxBytes?: number): string {
  let json: string | undefined
  try {
    json = JSON.stringify(message)
  } catch {
    json = serializeTolerantly(message, maxBytes)
  }
  // A plugin has given the event a `toJSON` that returns nothing.
  if (json === undefined) throw new DeliveryError('unserializable', 'the message has no JSON')
  if (json.includes('\\ud')) json = json.replace(ESCAPE, toReplacement)
  if (maxBytes !== undefined) requireSize(json, maxBytes)
  return json
}

function toReplacement(sequence: string, code: string): string {
  return code.length > 1 ? '\ufffd' : sequence
}

/** An escape in JSON. `JSON.stringify` writes only lone surrogates as `\ud800` to `\udfff`. */
const ESCAPE = /\\(ud[89a-f]..|.)/g

/** The greatest number of UTF-8 bytes per UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3

function requireSize(json: string, maxBytes: number): void {
  if (json.length * MAX_BYTES_PER_UNIT <= maxBytes) return
  const bytes = byteLength(json)
  if (bytes <= maxBytes) return
  throw new DeliveryError('too_large', `the message has ${bytes} bytes; the limit is ${maxBytes}`)
}

function serializeTolerantly(message: object, maxBytes: number | undefined): string {
  try {
    return JSON.stringify(snapshot(message, maxBytes))
  } catch (error) {
    if (isInstance(error, DeliveryError)) throw error
    throw new DeliveryError('unserializable', 'the message cannot be written as JSON', { cause: error })
  }
}

const MAX_DEPTH = 64

interface Left {
  bytes: number
}

/**
 * Estimates how many bytes `value` has as JSON, to limit the memory of events inside plugins. Cheaper than writing the JSON:
 * punctuation is counted roughly, and escapes are not counted. Never throws.
 *
 * @param largest Upper limit of the estimate, because no larger message is sent. Also returned for a value that cannot be read.
 * Default: 32,768.
 */
export function estimateBytes(value: unknown, largest = 32_768): number {
  const left = { bytes: largest }
  try {
    count(value, left, 0)
  } catch {
    return largest
  }
  return Math.min(largest, largest - left.bytes)
}

function count(value: unknown, left: Left, depth: number): void {
  if (typeof value === 'string') {
    left.bytes -= value.length > left.bytes ? value.length : byteLength(value) + 3
    return
  }
  left.bytes -= 5
  if (typeof value !== 'object' || value === null || left.bytes <= 0) return
  if (value instanceof Date) left.bytes -= 22
  if (depth >= MAX_DEPTH) left.bytes = 0
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left.bytes > 0; index++) count(value[index], left, depth + 1)
    return
  }
  for (const key of Object.keys(value)) {
    left.bytes -= key.length + 3
    count((value as Record<string, unknown>)[key], left, depth + 1)
    if (left.bytes <= 0) return
  }
}

export function toMessageError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('unserializable', 'a field of the event throws when it is read', { cause: error })
}

/** Adds to the error the size that the message had before the plugins, to show whether a plugin has made it too large. */
export function withFormerSize(error: DeliveryError, original: Message | undefined): DeliveryError {
  if (error.code !== 'too_large' || original === undefined) return error
  try {
    const bytes = byteLength(serialize(original))
    return new DeliveryError(error.code, `${error.message}; before the plugins it had ${bytes}`)
  } catch {
    return error
  }
}

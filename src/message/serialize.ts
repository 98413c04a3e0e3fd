import { DeliveryError } from '../errors/errors.ts'
import { snapshot } from './snapshot.ts'
import { byteLength, MAX_BYTES_PER_UNIT } from './utf8.ts'

/**
 * What `JSON.stringify` cannot write is copied with {@link snapshot} first, so that the event is not lost. Lone surrogates, which UTF-8
 * cannot contain, become U+FFFD.
 *
 * @param maxBytes Default: 32,768 if it needs a snapshot, otherwise no limit.
 * @throws DeliveryError with the code `unserializable` or `too_large`.
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
    if (error instanceof DeliveryError) throw error
    throw new DeliveryError('unserializable', 'the message cannot be written as JSON', { cause: error })
  }
}

export function toMessageError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error
  return new DeliveryError('unserializable', 'a field of the event throws when it is read', { cause: error })
}

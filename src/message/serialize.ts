import { DeliveryError } from '../errors/errors.ts'
import { snapshot } from './snapshot.ts'
import { byteLength, MAX_BYTES_PER_UNIT } from './utf8.ts'

/**
 * What `JSON.stringify` cannot write is copied with {@link snapshot} first, so that the event is not lost. Lone surrogates, which UTF-8
 * cannot contain, become U+FFFD.
 *
 * @param maxBytes In UTF-8.
 * @throws DeliveryError with the code `unserializable` or `too_large`.
 */
export function serialize(message: object, maxBytes = 32_768): string {
  let json: string | undefined
  try {
    json = JSON.stringify(message)
  } catch {
    json = serializeTolerantly(message, maxBytes)
  }
  // A plugin has given the event a `toJSON` that returns nothing.
  if (json === undefined) throw new DeliveryError('unserializable', 'the message has no JSON')
  if (json.includes('\\ud')) json = json.replace(ESCAPE, toReplacement)
  // The exact length is only needed near the limit.
  if (json.length * MAX_BYTES_PER_UNIT <= maxBytes) return json
  const bytes = byteLength(json)
  if (bytes <= maxBytes) return json
  throw new DeliveryError('too_large', `the message has ${bytes} bytes; the limit is ${maxBytes}`)
}

function toReplacement(sequence: string, code: string): string {
  return code.length > 1 ? '\ufffd' : sequence
}

/** An escape in JSON. `JSON.stringify` writes only lone surrogates as `\ud800` to `\udfff`. */
const ESCAPE = /\\(ud[89a-f]..|.)/g

function serializeTolerantly(message: object, maxBytes: number): string {
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

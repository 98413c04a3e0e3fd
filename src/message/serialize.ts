import { DeliveryError, isInstance } from '../errors/errors.ts'
import { snapshot } from './snapshot.ts'
import { byteLength } from './utf8.ts'

/** The largest message that the service takes, in UTF-8 bytes. @see spec.md, sections 3 and 5 */
export const MAX_MESSAGE_BYTES = 32_768

/**
 * Writes a message as JSON, once: its bytes are what is counted, queued, sent and sent again.
 *
 * The native serialiser comes first. What it cannot write (a BigInt, a cycle, a getter that throws) goes
 * through {@link snapshot}, so that one odd value does not cost the event.
 *
 * @throws DeliveryError `unserializable` when neither can.
 */
export function serialize(message: object): string {
  let json: string | undefined
  try {
    json = JSON.stringify(message)
  } catch {
    json = serializeTolerantly(message)
  }
  // A `toJSON` of a plugin's that returns nothing.
  if (json === undefined) throw new DeliveryError('unserializable', 'the message has no JSON')
  return json
}

/** UTF-8 takes at most this many bytes for a UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3

/** @throws DeliveryError `too_large` when the message is over {@link MAX_MESSAGE_BYTES}. */
export function requireSize(json: string): void {
  // Exact counting is for the few that may be too large.
  if (json.length * MAX_BYTES_PER_UNIT <= MAX_MESSAGE_BYTES) return
  const bytes = byteLength(json)
  if (bytes <= MAX_MESSAGE_BYTES) return
  throw new DeliveryError('too_large', `the message has ${bytes} bytes; the limit is ${MAX_MESSAGE_BYTES}`)
}

function serializeTolerantly(message: object): string {
  try {
    return JSON.stringify(snapshot(message))
  } catch (error) {
    if (isInstance(error, DeliveryError)) throw error
    throw new DeliveryError('unserializable', 'the message cannot be written as JSON', { cause: error })
  }
}

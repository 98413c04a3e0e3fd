import { DeliveryError, isInstance } from '../errors.ts'
import { byteLength } from './byte-length.ts'
import { snapshot } from './snapshot.ts'

/** The largest message that the service takes, in UTF-8 bytes. @see spec.md, sections 3 and 5 */
export const MAX_MESSAGE_BYTES = 32_768

/** A message as it will be sent, with its exact length in UTF-8 bytes. */
export interface SerializedMessage {
  readonly json: string
  readonly bytes: number
}

/**
 * Writes a message as JSON, once; the text is what is counted, queued, sent and sent again.
 *
 * The native serialiser comes first. What it cannot write (a BigInt, a cycle, a getter that throws) goes
 * through {@link snapshot}, so that one odd value does not cost the event.
 *
 * @throws DeliveryError `too_large` over {@link MAX_MESSAGE_BYTES}; `unserializable` when neither can.
 */
export function serialize(message: object): SerializedMessage {
  let json: string
  try {
    json = JSON.stringify(message)
  } catch {
    json = serializeTolerantly(message)
  }
  const bytes = byteLength(json)
  if (bytes > MAX_MESSAGE_BYTES) {
    throw new DeliveryError('too_large', `the message has ${bytes} bytes; the limit is ${MAX_MESSAGE_BYTES}`)
  }
  return { json, bytes }
}

function serializeTolerantly(message: object): string {
  try {
    return JSON.stringify(snapshot(message))
  } catch (error) {
    if (isInstance(error, DeliveryError)) throw error
    throw new DeliveryError('unserializable', 'the message cannot be written as JSON', { cause: error })
  }
}

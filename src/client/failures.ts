import { DeliveryError } from '../errors/errors.ts'
import { isInstance } from '../errors/guard.ts'
import { serialize } from '../message/serialize.ts'
import type { Message } from '../message/types.ts'
import { byteLength } from '../message/utf8.ts'

/** What was thrown while a message was built or written. */
export function toDeliveryError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('unserializable', 'a field of the event throws when it is read', { cause: error })
}

/** What was thrown while the event that plugins left behind was read. */
export function toPluginError(error: unknown): DeliveryError {
  if (isInstance(error, DeliveryError)) return error
  return new DeliveryError('plugin', 'a plugin set ctx.event to something that is not an event', {
    cause: error,
  })
}

/** A reader who looks for what made an event too large should learn whether it was a plugin. */
export function withFormerSize(error: DeliveryError, original: Message | undefined): DeliveryError {
  if (error.code !== 'too_large' || original === undefined) return error
  try {
    const bytes = byteLength(serialize(original))
    return new DeliveryError(error.code, `${error.message}; before the plugins it had ${bytes}`)
  } catch {
    return error
  }
}

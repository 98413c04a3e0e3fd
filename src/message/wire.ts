import { isoTime, msOf } from './build.ts'
import { snapshot } from './snapshot.ts'
import type { ContextEvent, Kind, Message } from './types.ts'

export const KINDS: readonly Kind[] = ['identify', 'track', 'page', 'screen', 'group', 'alias']

/** Returns a copy with the timestamp as a `Date`. The copy shares all other values with `message`. */
export function toContextEvent(message: Message | ContextEvent): ContextEvent {
  return { ...message, timestamp: new Date(message.timestamp) }
}

/**
 * Like {@link toContextEvent}, but makes a deep copy, so that plugins cannot change the caller's objects.
 *
 * @param maxBytes Maximum bytes of the message. Default: 32,768.
 * @throws DeliveryError like {@link snapshot}.
 */
export function copyToContextEvent(message: Message, maxBytes?: number): ContextEvent {
  const copy: Partial<ContextEvent> = snapshot(message, maxBytes) as Omit<Message, 'timestamp'>
  copy.timestamp = new Date(msOf(message.timestamp))
  return copy as ContextEvent
}

/** Writes the timestamp as text, because `JSON.stringify` is several times slower for a Date. */
export function toWire(message: Message | ContextEvent): object {
  const { timestamp } = message
  if (!(timestamp instanceof Date) || Object.getPrototypeOf(message) !== Object.prototype) return message
  try {
    return { ...message, timestamp: isoTime(timestamp.getTime()) }
  } catch {
    // A plugin has set an invalid Date, or a getter that throws. The serialiser handles such an event.
    return message
  }
}

export function kindOf(json: string): Kind | undefined {
  // `type` is the first field, unless a plugin has made the event.
  let [, type] = /^\{"type":"(\w+)",.*\}$/s.exec(json) ?? []
  try {
    type ??= (JSON.parse(json) as Message | null)?.type
  } catch {
    return undefined
  }
  return KINDS.find((kind) => kind === type)
}

import { isoTime, msOf } from './build.ts'
import { snapshot } from './snapshot.ts'
import type { ContextEvent, Kind, Message } from './types.ts'

/** The six kinds of message, in the order of the specification. */
export const KINDS: readonly Kind[] = ['identify', 'track', 'page', 'screen', 'group', 'alias']

/** The message with its timestamp as a `Date`. Shares everything else with the message. */
export function toContextEvent(message: Message | ContextEvent): ContextEvent {
  return { ...message, timestamp: new Date(message.timestamp) }
}

/**
 * Like {@link toContextEvent}, but shares nothing: plugins write to the copy, never to the caller's objects.
 *
 * @param maxBytes Maximum bytes that the message may have. Default: 32,768.
 * @throws DeliveryError as {@link snapshot}.
 */
export function copyToContextEvent(message: Message, maxBytes?: number): ContextEvent {
  const copy: Partial<ContextEvent> = snapshot(message, maxBytes) as Omit<Message, 'timestamp'>
  copy.timestamp = new Date(msOf(message.timestamp))
  return copy as ContextEvent
}

/** The message as it is sent: the timestamp as text, as `JSON.stringify` would write it, but several times faster. */
export function toWire(message: Message | ContextEvent): object {
  const { timestamp } = message
  if (!(timestamp instanceof Date) || Object.getPrototypeOf(message) !== Object.prototype) return message
  try {
    return { ...message, timestamp: isoTime(timestamp.getTime()) }
  } catch {
    // A plugin has put a getter that throws or an invalid Date into the event: the serialiser handles both.
    return message
  }
}

/** The kind of a message, from its JSON; `undefined` if it is not a message. */
export function kindOf(json: string): Kind | undefined {
  // `type` comes first, unless a plugin has made the event.
  let [, type] = /^\{"type":"(\w+)",.*\}$/s.exec(json) ?? []
  try {
    type ??= (JSON.parse(json) as Message | null)?.type
  } catch {
    return undefined
  }
  return KINDS.find((kind) => kind === type)
}

import { msOf } from './build.ts'
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

import { msOf } from './build.ts'
import { snapshot } from './snapshot.ts'
import type { ContextEvent, Kind, Message } from './types.ts'

export const KINDS: readonly Kind[] = ['identify', 'track', 'page', 'screen', 'group', 'alias']

/** The copy shares all values but the timestamp. */
export function toContextEvent(message: Message | ContextEvent): ContextEvent {
  return { ...message, timestamp: new Date(message.timestamp) }
}

/** A deep copy, so that plugins cannot change the objects of the caller. @throws DeliveryError like {@link snapshot}. */
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

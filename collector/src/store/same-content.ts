import { storedMessage } from './stored-message.ts'

/** Not compared: the collector adds or changes these fields, or the client sets them again on each attempt. */
const VOLATILE = ['receivedAt', 'sentAt', 'timestamp', '_metadata'] as const

/**
 * Whether two messages with the same messageId have the same content, whatever the order of their keys. `context.library` and the
 * fields in `VOLATILE` are not compared. A message whose content is not stored counts as the same.
 */
export function isSameContent(one: string | null, other: string | null): boolean {
  if (one === null || other === null || one === other) return true
  return comparable(one) === comparable(other)
}

function comparable(body: string): string {
  const message: Record<string, unknown> = { ...storedMessage(body) }
  for (const field of VOLATILE) delete message[field]
  const { context } = message
  if (typeof context === 'object' && context !== null) message['context'] = { ...context, library: undefined }
  return JSON.stringify(message, sortedKeys)
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // `Object.fromEntries` defines own properties, so a key "__proto__" does not set the prototype.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

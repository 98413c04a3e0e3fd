/** What the service itself adds or corrects, or what a client renews with each attempt. */
const VOLATILE = ['receivedAt', 'sentAt', 'timestamp', '_metadata'] as const

/**
 * Whether two messages that are kept say the same, so that the second is the first one sent again.
 *
 * The order of keys says nothing, and neither does the name of the library that sent it.
 */
export function isSameContent(one: string, other: string): boolean {
  return one === other || canonicalText(one) === canonicalText(other)
}

function canonicalText(body: string): string {
  const message = JSON.parse(body) as Record<string, unknown>
  for (const field of VOLATILE) delete message[field]
  const { context } = message
  if (typeof context === 'object' && context !== null) {
    delete (context as Record<string, unknown>)['library']
    if (Object.keys(context).length === 0) delete message['context']
  }
  return JSON.stringify(message, sortedKeys)
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  // Entries rather than assignments: a "__proto__" key stays data.
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** By a registered symbol: matchers may come from another copy of this module than the client. */
const MESSAGES: unique symbol = Symbol.for('trackpost.testing.messages') as never

/** Lets {@link messagesOf} find the messages of a client. */
export function markMessages(analytics: object, messages: readonly unknown[]): void {
  Object.defineProperty(analytics, MESSAGES, { value: messages })
}

/**
 * The messages of a test client, of the `analytics` of one, or a list of messages.
 *
 * @throws TypeError when it is none of these.
 */
export function messagesOf(received: unknown): readonly object[] {
  if (Array.isArray(received)) return received
  if (typeof received === 'object' && received !== null) {
    const { messages, [MESSAGES]: marked } = received as { messages?: unknown; [MESSAGES]?: unknown }
    if (Array.isArray(marked)) return marked
    if (Array.isArray(messages)) return messages
  }
  throw new TypeError('expected a test client, its analytics or a list of messages; see createTestClient()')
}

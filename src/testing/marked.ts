/** Global symbols, because the matchers and the client may come from different copies of this module. */
const MESSAGES: unique symbol = Symbol.for('trackpost.testing.messages') as never
const UNDECIDED: unique symbol = Symbol.for('trackpost.testing.undecided') as never

export interface Received {
  readonly messages: readonly object[]
  /** Number of events that are still inside plugins and may be sent or dropped. */
  readonly undecided: number
}

/** Lets {@link receivedOf} find the messages of a client. */
export function markMessages(analytics: object, messages: readonly unknown[], undecided: () => number): void {
  Object.defineProperty(analytics, MESSAGES, { value: messages })
  Object.defineProperty(messages, UNDECIDED, { value: undecided })
}

/**
 * Returns the messages of a test client, of its `analytics`, or of a list of messages.
 *
 * @throws TypeError when `received` is another value.
 */
export function receivedOf(received: unknown): Received {
  const messages = messagesOf(received)
  const { [UNDECIDED]: undecided } = messages as { [UNDECIDED]?: () => number }
  return { messages, undecided: undecided?.() ?? 0 }
}

function messagesOf(received: unknown): readonly object[] {
  if (Array.isArray(received)) return received
  if (typeof received === 'object' && received !== null) {
    const { messages, [MESSAGES]: marked } = received as { messages?: unknown; [MESSAGES]?: unknown }
    if (Array.isArray(marked)) return marked
    if (Array.isArray(messages)) return messages
  }
  throw new TypeError('expected a test client, its analytics or a list of messages; see createTestClient()')
}

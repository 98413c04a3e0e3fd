/** A global symbol, because the matchers and the client may come from different copies of this module. */
const RECORD: unique symbol = Symbol.for('trackpost.testing.record') as never

export interface TestRecord {
  readonly messages: readonly object[]
  /** Each as its message with the `code` of its failure; `undefined` for a list of messages. */
  readonly failed: (() => readonly object[]) | undefined
  /** Events that are inside plugins. */
  undecided(): number
  pending(): number
}

/** Lets {@link recordOf} find what a client has seen, also by its `analytics` or its messages alone. */
export function markRecord(analytics: object, record: TestRecord): void {
  for (const one of [analytics, record.messages]) Object.defineProperty(one, RECORD, { value: record })
}

/** @throws TypeError unless `received` is a test client, its `analytics` or a list of messages. */
export function recordOf(received: unknown): TestRecord {
  const { messages } = (received ?? {}) as { messages?: unknown }
  for (const one of [received, messages]) {
    const { [RECORD]: record } = (one ?? {}) as { [RECORD]?: TestRecord }
    if (record !== undefined) return record
    if (Array.isArray(one)) return { messages: one, failed: undefined, undecided: () => 0, pending: () => 0 }
  }
  throw new TypeError('expected a test client, its analytics or a list of messages; see createTestClient()')
}

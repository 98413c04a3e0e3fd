/** A message in the store. What else it is, only its store knows. */
export interface StoredMessage {
  /** Length in UTF-8 bytes. */
  readonly bytes: number
}

/** Whatever has a message in the store. */
export interface Holder {
  /** Set from the moment the message is stored until it is released. */
  stored: StoredMessage | undefined
}

/**
 * Keeps serialised messages from the call to the outcome, as UTF-8 bytes. Injected into the line, so that messages can be
 * kept elsewhere than in memory.
 */
export interface MessageStore {
  /** Stores one message. */
  put(json: string): StoredMessage
  /** The JSON of a message; empty once it is released. */
  read(message: StoredMessage): string
  /**
   * Copies messages, with a comma between each two.
   *
   * @param target Has room for `totalBytes(holders)` from `at` on.
   */
  copy(holders: readonly Holder[], target: Uint8Array, at: number): void
  /** Gives up the place of a message. A second release does nothing. */
  release(message: StoredMessage): void
}

/** Bytes of the messages and the commas between them. */
export function totalBytes(holders: readonly Holder[]): number {
  let total = -1
  for (const { stored } of holders) total += bytesOf(stored) + 1
  return total
}

/** The bytes of a message; 0 when there is none. */
export function bytesOf(stored: StoredMessage | undefined): number {
  return stored === undefined ? 0 : stored.bytes
}

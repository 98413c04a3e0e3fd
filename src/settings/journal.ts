/** A message in a journal. The journal makes this object, and the client only passes it back. */
export interface JournalRecord {
  /** Whether another process could read the message if this process ended now. */
  readonly isKept: boolean
}

/** A message that an earlier process left in the journal. */
export interface RecoveredMessage {
  readonly record: JournalRecord
  /** JSON in UTF-8. */
  readonly message: Uint8Array
}

/** Keeps messages outside the process until their events have an outcome. No method throws or rejects. */
export interface Journal {
  /**
   * Keeps messages: in the pass at the end of a turn, and once more when the process exits.
   *
   * @param messages JSON in UTF-8; valid only during the call.
   * @returns The record of each; `undefined` for what could not be kept.
   */
  append(messages: readonly Uint8Array[]): readonly (JournalRecord | undefined)[]
  /** The event has its outcome. */
  settled(record: JournalRecord): void
  /** Resolves to whether all that was appended is on disk. */
  sync(): Promise<boolean>
  /** What processes that are gone have left, in portions. */
  recover(): AsyncIterable<readonly RecoveredMessage[]>
  /** What is not settled stays for the next start. */
  close(): Promise<void>
  /** The same, synchronously, when the process exits. */
  closeAtExit(): void
}

/** What a journal is told of the client that it serves. */
export interface JournalClient {
  /** Whether the setting `disable` is `true`: no request is sent, and what earlier processes have left is not read. */
  readonly isDisabled: boolean
  /** Reports a problem, in one sentence. Not for lost events. */
  warn(text: string): void
}

/** The value of the setting `spool`, such as a `FileSpool`. It serves one client. */
export interface Spool {
  /**
   * Called once, by the constructor of the client.
   *
   * @throws when it already serves a client.
   */
  attach(client: JournalClient): Journal
}

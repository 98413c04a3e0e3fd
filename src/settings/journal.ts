import type { Clock } from '../runtime/clock.ts'

/** Several messages may have the same record. */
export interface JournalRecord {
  /** Whether another process would find the message if this one ended now. */
  readonly isKept: boolean
}

export interface RecoveredMessage {
  readonly record: JournalRecord
  /** A part of a larger array, which it holds in memory. */
  readonly message: Uint8Array
}

/** Keeps messages until their events have an outcome, so that they survive the process. No method throws, no promise rejects. */
export interface Journal {
  /**
   * Writes messages, which are JSON in UTF-8 without line breaks and valid only during the call. `undefined` for one that is not kept,
   * for which it may be called again.
   */
  append(messages: readonly Uint8Array[]): readonly (JournalRecord | undefined)[]
  /** One event of this record has its outcome. Called once for each event, but not for events that are left for the next start. */
  settled(record: JournalRecord): void
  /** Resolves to whether everything that was appended before, and has no outcome, is on the disk. */
  sync(): Promise<boolean>
  /** Takes over one file of a process that is gone. Empty when there is no more now. */
  recover(): readonly RecoveredMessage[]
  /** Syncs, and lets other processes take over what has no outcome. */
  close(): Promise<void>
  /** Synchronously, and without a sync. */
  closeAtExit(): void
}

export interface JournalClient {
  readonly clock: Clock
  /** Reports a problem, in one sentence. No event is lost by it. */
  warn(text: string): void
  /** There is something to recover. */
  onFound(): void
}

/** The value of the setting `spool`: a `FileSpool`. */
export interface Spool {
  /** Called by the constructor of a client. */
  open(client: JournalClient): Journal
}

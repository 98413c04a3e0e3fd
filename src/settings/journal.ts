import type { Clock } from '../runtime/clock.ts'

/** Where a journal keeps a message. Several messages may have the same record. */
export interface JournalRecord {
  /** Whether another process would find the message if this one ended now. */
  readonly isKept: boolean
}

/** A message that a process has left which is gone. */
export interface RecoveredMessage {
  /** The record with which `settled` is called. */
  readonly record: JournalRecord
  /** The bytes that were appended. A part of a larger array, which it holds in memory. */
  readonly message: Uint8Array
}

/**
 * Keeps messages until their events have an outcome, so that they survive the process. It holds what memory holds, no more.
 * No method throws, and no promise rejects.
 */
export interface Journal {
  /**
   * Writes messages, synchronously: when it returns, they survive the death of the process. Called at the end of a turn, and at
   * `exit`. May be called again for messages that were not kept.
   *
   * @param messages JSON objects in UTF-8, without line breaks; valid only during the call.
   * @returns For each message its record; `undefined` for a message that is not kept.
   */
  append(messages: readonly Uint8Array[]): readonly (JournalRecord | undefined)[]
  /** One event of this record has its outcome. Called once for each event, but not for events that are left for the next start. */
  settled(record: JournalRecord): void
  /** Resolves to whether everything that was appended before, and has no outcome, is on the disk. */
  sync(): Promise<boolean>
  /**
   * Takes over what a process has left that is gone: one file, of at most 1,000 messages or 1 MB (and one message).
   *
   * @returns An empty list when there is nothing (more) now.
   */
  recover(): readonly RecoveredMessage[]
  /** Syncs, and lets other processes take over what has no outcome. */
  close(): Promise<void>
  /** The same for the end of the process: synchronously, and without a sync. */
  closeAtExit(): void
}

/** What a journal needs of its client. */
export interface JournalClient {
  /** The time and the timers to use. */
  readonly clock: Clock
  /** Reports a problem, in one sentence. No event is lost by it. */
  warn(text: string): void
  /** There is something to recover. */
  onFound(): void
}

/** The value of the setting `spool`. Made by `FileSpool`. */
export interface Spool {
  /** Called by the constructor of a client. */
  open(client: JournalClient): Journal
}

import type { Holder, MessageStore, StoredMessage } from './store.ts'

/** One message in a spool. Made by the spool; the client only hands it back. */
export interface SpoolRecord {
  /** Whether another process could read it if this one ended now. */
  readonly isKept: boolean
}

/** A message that is read from a spool. */
export interface RecoveredMessage {
  /** Passed to `acknowledge`. */
  readonly record: SpoolRecord
  /** This client appended it and does not hold it in memory; otherwise an earlier process left it. */
  readonly isOwn: boolean
  /**
   * The bytes as they were appended, valid until the next messages are requested. `undefined` when a message of this client
   * cannot be read any more: its event is lost.
   */
  readonly message: Uint8Array | undefined
}

/**
 * Keeps messages outside the process until they have their outcome. `FileSpool` implements it; you can implement it for another
 * store. A spool serves one client. No method except `attach` may throw or reject.
 *
 * @example
 * class RedisSpool implements Spool {
 *   attach(client: SpoolClient): SpoolConnection {
 *     return connect(this, client)
 *   }
 *   // append, sync, acknowledge, recover and close
 * }
 */
export interface Spool {
  /**
   * Called once, by the constructor of the client. Returns `connect(this, client)`.
   *
   * @throws when the spool serves a client already.
   */
  attach(client: SpoolClient): SpoolConnection
  /**
   * Takes a message. Called within `track()`: it must not wait for anything.
   *
   * @param message UTF-8 JSON; valid during the call only.
   * @param isHeld The client keeps the message in memory as well. Otherwise `recover` must return it.
   * @returns `undefined` when there is no room, or the spool cannot write at present.
   */
  append(message: Uint8Array, isHeld: boolean): SpoolRecord | undefined
  /**
   * Makes everything appended so far durable.
   *
   * @returns Resolves to whether every message without an acknowledgement is as safe as this spool promises.
   */
  sync(): Promise<boolean>
  /** A message has its outcome and need not be kept. After a crash it may be sent again: the service deduplicates by id. */
  acknowledge(record: SpoolRecord): void
  /**
   * Messages that the client does not hold: first its own, in the order in which they were appended, then those that earlier
   * processes left. Waits when there is nothing to return, and ends when the spool is closed. Called once.
   */
  recover(): AsyncIterable<readonly RecoveredMessage[]>
  /** Closes the spool. Messages without an acknowledgement stay for the next process. Further calls do nothing. */
  close(): Promise<void>
}

/** The interface of the client for its spool. Made by the client; passed on to `connect`. */
export interface SpoolClient {
  /** @internal Keeps messages in memory. */
  readonly memory: SpoolMemory
  /** @internal Bounds on what waits in memory. */
  readonly limits: { readonly maxQueueBytes: number; readonly maxQueueSize: number }
  /** @internal No request is sent, and messages of earlier processes are not read. */
  readonly isDisabled: boolean
  /** @internal Events and bytes that wait in memory. */
  waiting(): { readonly size: number; readonly bytes: number }
  /** @internal Queues a message that was read; returns `false` when it is not a message. */
  admit(json: string, stored: StoredMessage, entry: SpooledEntry | undefined): boolean
  /** @internal Gives an event that was only in the spool its outcome: kept for the next process, or lost. */
  conclude(entry: SpooledEntry, isKept: boolean): void
  /** Reports a problem that has cost no event, in one sentence. */
  warn(text: string): void
}

/** @internal The part of the store in memory that a connection uses. */
export interface SpoolMemory extends MessageStore {
  /** The bytes of a message, in their place. */
  view(stored: StoredMessage): Uint8Array
}

/** @internal For an event whose message is only in the spool: the part that stays in memory. */
export interface SpooledEntry extends Holder {
  readonly kind?: unknown
  readonly callback?: unknown
  readonly seq?: number
  readonly ctx?: unknown
  readonly messageId?: unknown
  readonly passedPlugins?: boolean
}

/** The connection of a client and its spool. Made by `connect`. */
export interface SpoolConnection extends MessageStore {
  /** @internal Number of events that are only in the spool: later events have to wait behind them. */
  readonly length: number
  /** @internal Takes an event for which there is no room in memory. Returns whether the spool has room. */
  spill(entry: SpooledEntry, json: string): boolean
  /** @internal Called when there may be room in memory again. */
  refill(): void
  /** @internal Resolves to whether every message taken so far is as safe as the spool promises. Never rejects. */
  secure(): Promise<boolean>
  /** @internal Leaves a message to the next process. Returns whether the spool has it. */
  defer(stored: StoredMessage): boolean
  /** @internal Stops reading messages of earlier processes, until the client takes the next message. */
  pause(): void
  /** @internal Leaves the events that are only in the spool to the next process. */
  abandon(): void
  /** @internal Never rejects. */
  close(): Promise<void>
}

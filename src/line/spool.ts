import type { Holder, MessageStore, StoredMessage } from './store.ts'

/** A message in a spool. The spool makes this object, and the client only passes it back to `acknowledge`. */
export interface SpoolRecord {
  /** Whether another process could read the message if this process ended now. */
  readonly isKept: boolean
}

/** A message that is read from a spool. */
export interface RecoveredMessage {
  /** The record, which the client passes to `acknowledge`. */
  readonly record: SpoolRecord
  /**
   * `true` for a message that this client has appended and does not keep in memory; `false` for a message of an earlier
   * process.
   */
  readonly isOwn: boolean
  /**
   * The bytes that were appended; valid until the next messages are requested. `undefined` when a message of this client can no
   * longer be read: its event is lost.
   */
  readonly message: Uint8Array | undefined
}

/**
 * Keeps messages outside the process until their events have an outcome. `FileSpool` implements this interface; you can
 * implement it for another store. A spool serves one client. No method except `attach` may throw or reject.
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
   * @throws when the spool already serves a client.
   */
  attach(client: SpoolClient): SpoolConnection
  /**
   * Stores a message. Must not block.
   *
   * @param message JSON in UTF-8; valid only during the call.
   * @param isHeld Whether the client also keeps the message in memory. If not, `recover` must return the message.
   * @returns The record of the message; `undefined` when there is no room, or the spool cannot write now.
   */
  append(message: Uint8Array, isHeld: boolean): SpoolRecord | undefined
  /**
   * Makes all messages appended so far durable.
   *
   * @returns Whether every message that was not acknowledged is now as safe as this spool promises.
   */
  sync(): Promise<boolean>
  /**
   * The event of a message has its outcome, so the message need not be kept. If a crash restores the message and it is sent
   * again, the service drops the duplicate by its id.
   */
  acknowledge(record: SpoolRecord): void
  /**
   * Returns the messages that the client does not keep in memory: first its own, in the order in which they were appended, then
   * those of earlier processes. Waits while there are none, and ends when the spool is closed. Called once.
   */
  recover(): AsyncIterable<readonly RecoveredMessage[]>
  /** Closes the spool. Messages that were not acknowledged stay for the next process. Further calls do nothing. */
  close(): Promise<void>
}

/** The part of the client that a spool receives and passes to `connect`. */
export interface SpoolClient {
  /** @internal Keeps messages in memory. */
  readonly memory: SpoolMemory
  /** @internal Limits for the events that wait in memory. */
  readonly limits: { readonly maxQueueBytes: number; readonly maxQueueSize: number }
  /** @internal Whether the setting `disable` is `true`: no request is sent, and messages of earlier processes are not read. */
  readonly isDisabled: boolean
  /** @internal The number of events that wait in memory, and the bytes of their messages. */
  waiting(): { readonly size: number; readonly bytes: number }
  /** @internal Queues a message that was read from the spool. Returns `false` when `json` is not a message. */
  admit(json: string, stored: StoredMessage, entry: SpooledEntry | undefined): boolean
  /** @internal Ends an event whose message was only in the spool: as kept for the next process, or as lost. */
  conclude(entry: SpooledEntry, isKept: boolean): void
  /** Reports a problem, in one sentence. Not for lost events. */
  warn(text: string): void
}

/** @internal The store for messages in memory. */
export interface SpoolMemory extends MessageStore {
  /** The bytes of a message, without a copy. */
  view(stored: StoredMessage): Uint8Array
}

/** @internal The part of an event that stays in memory while its message is only in the spool. */
export interface SpooledEntry extends Holder {
  readonly kind?: unknown
  readonly callback?: unknown
  readonly seq?: number
  readonly ctx?: unknown
  readonly messageId?: unknown
  readonly passedPlugins?: boolean
}

/** Connects a client with its spool. Made by `connect`. */
export interface SpoolConnection extends MessageStore {
  /** @internal Number of events that are only in the spool. Later events have to wait behind these events. */
  readonly length: number
  /** @internal Stores a message that is in memory. */
  keep(stored: StoredMessage): void
  /** @internal Whether the spool has the message, or has refused it. */
  has(stored: StoredMessage): boolean
  /**
   * @internal Moves an event for which there is no room in memory to the spool, and releases its message. Returns whether the
   * spool has room.
   */
  spill(entry: SpooledEntry): boolean
  /** @internal Called when there may be room in memory again. */
  refill(): void
  /** @internal Resolves to whether every message stored so far is as safe as the spool promises. Never rejects. */
  secure(): Promise<boolean>
  /** @internal Leaves a message in the spool for the next process. Returns whether the spool has the message. */
  defer(stored: StoredMessage): boolean
  /** @internal Stops reading messages of earlier processes until the next message is stored. */
  pause(): void
  /** @internal Leaves the events that are only in the spool for the next process. */
  abandon(): void
  /** @internal Closes the spool. Never rejects. */
  close(): Promise<void>
}

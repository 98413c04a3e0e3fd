import type { Holder, MessageStore, StoredMessage } from './store.ts'

/** One message in a spool. Made by the spool; the client only hands it back. */
export interface SpoolRecord {
  /** Whether another process could read it now, should this one end. */
  readonly isKept: boolean
}

/** A message that is read from a spool. */
export interface RecoveredMessage {
  /** To acknowledge it by. */
  readonly record: SpoolRecord
  /** This client appended it, and let go of it; otherwise an earlier process left it. */
  readonly isOwn: boolean
  /**
   * The bytes as they were appended, valid until the next messages are asked for. `undefined` when a message that this
   * client had appended cannot be read any more: its event is lost.
   */
  readonly message: Uint8Array | undefined
}

/**
 * Keeps messages outside the process until they have their outcome. `FileSpool` is one; others can be written for other
 * stores. A spool serves one client. But for `attach`, no method may throw or reject.
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
   * @param isHeld The client keeps the message in memory as well. Otherwise it is to come out of `recover`.
   * @returns `undefined` when there is no room for it, or nothing can be kept now.
   */
  append(message: Uint8Array, isHeld: boolean): SpoolRecord | undefined
  /**
   * Makes safe what was appended so far.
   *
   * @returns Resolves to whether all of it that was not acknowledged is as safe as this spool promises.
   */
  sync(): Promise<boolean>
  /** A message has its outcome and need not be kept. It may come again after a crash: the service knows it by its id. */
  acknowledge(record: SpoolRecord): void
  /**
   * Messages that wait and are not held by the client: its own first, in the order in which they were appended, then
   * those that earlier processes have left. Goes on until the spool is closed, and waits when there is nothing. Called
   * once.
   */
  recover(): AsyncIterable<readonly RecoveredMessage[]>
  /** Gives the spool up. What was not acknowledged stays for the next process. Further calls do nothing. */
  close(): Promise<void>
}

/** The interface of the client for its spool. Made by the client; passed on to `connect`. */
export interface SpoolClient {
  /** @internal Keeps messages in memory. */
  readonly memory: SpoolMemory
  /** @internal Bounds on what waits in memory. */
  readonly limits: { readonly maxQueueBytes: number; readonly maxQueueSize: number }
  /** @internal No request is sent, and nothing is read that earlier processes have left. */
  readonly isDisabled: boolean
  /** @internal Events and bytes that wait in memory. */
  waiting(): { readonly size: number; readonly bytes: number }
  /** @internal Puts a message that was read among those that wait; returns `false` when it is none. */
  admit(json: string, stored: StoredMessage, entry: SpooledEntry | undefined): boolean
  /** @internal Gives an event that was in the spool alone its outcome: kept for the next process, or lost. */
  conclude(entry: SpooledEntry, isKept: boolean): void
  /** Tells the user, in one sentence, of trouble that has cost no event. */
  warn(text: string): void
}

/** @internal What a connection needs of the store in memory. */
export interface SpoolMemory extends MessageStore {
  /** The bytes of a message, in their place. */
  view(stored: StoredMessage): Uint8Array
}

/** @internal An event that waits in the spool alone. */
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
  /** @internal Events that wait in the spool alone: what comes after them has to wait behind them. */
  readonly length: number
  /** @internal Takes an event for which there is no room in memory. Returns whether the spool has room. */
  spill(entry: SpooledEntry, json: string): boolean
  /** @internal There may be room in memory. */
  refill(): void
  /** @internal Resolves to whether all that was taken so far is as safe as the spool promises. Never rejects. */
  secure(): Promise<boolean>
  /** @internal Leaves a message to the next process. Returns whether the spool has it. */
  defer(stored: StoredMessage): boolean
  /** @internal From now on, until the next message is taken, nothing is read that earlier processes have left. */
  pause(): void
  /** @internal Leaves what waits in the spool alone to the next process. */
  abandon(): void
  /** @internal Never rejects. */
  close(): Promise<void>
}

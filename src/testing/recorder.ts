import { type Holder, type MessageStore, SlabStore, type StoredMessage } from '../line/store.ts'

/** The store of the client, with a copy of each message from the moment it is queued. */
export class Recorder<Message> implements MessageStore {
  /** The accepted messages, oldest first. Always the same list. */
  readonly messages: Message[] = []
  readonly #store = new SlabStore()
  /** Messages without an outcome; each with its copy, until it has been in a request. */
  readonly #live = new Map<StoredMessage, Message | undefined>()
  /** Called when a message was added. */
  onMessage: () => void = () => {}

  /** How many messages have no outcome yet. */
  get live(): number {
    return this.#live.size
  }

  put(json: string): StoredMessage {
    const stored = this.#store.put(json)
    const message = JSON.parse(json) as Message
    this.messages.push(message)
    this.#live.set(stored, message)
    this.onMessage()
    return stored
  }

  read(message: StoredMessage): string {
    return this.#store.read(message)
  }

  copy(holders: readonly Holder[], target: Uint8Array, at: number): void {
    for (const { stored } of holders) if (stored !== undefined) this.#live.set(stored, undefined)
    this.#store.copy(holders, target, at)
  }

  release(stored: StoredMessage): void {
    const unsent = this.#live.get(stored)
    if (this.#live.delete(stored) && unsent !== undefined) this.#forget(unsent)
    this.#store.release(stored)
  }

  /** Removes a message that was dropped before it was in a request: it would not have been sent. */
  #forget(message: Message): void {
    const index = this.messages.lastIndexOf(message)
    if (index >= 0) this.messages.splice(index, 1)
  }
}

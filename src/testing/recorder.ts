import { type Holder, type MessageStore, SlabStore, type StoredMessage } from '../line/store.ts'

/** A store that also keeps a copy of each queued message for the test. */
export class Recorder<Message> implements MessageStore {
  /** Oldest first. Always the same array. */
  readonly messages: Message[] = []
  readonly #store = new SlabStore()
  /** The messages without an outcome. The value is the copy, or `undefined` once the message has been in a request. */
  readonly #live = new Map<StoredMessage, Message | undefined>()
  onMessage: () => void = () => {}

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

  /** Removes the copy of a message that was dropped before it was in a request, because it would not have been sent. */
  #forget(message: Message): void {
    const index = this.messages.lastIndexOf(message)
    if (index >= 0) this.messages.splice(index, 1)
  }
}

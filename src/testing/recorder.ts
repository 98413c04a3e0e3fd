import { type Holder, type MessageStore, SlabStore, type StoredMessage } from '../message/store.ts'

/** A store that also keeps a copy of each queued message for the test. */
export class Recorder<Message extends { messageId: string }> implements MessageStore {
  /** Always the same array. */
  readonly messages: Message[] = []
  readonly #store = new SlabStore()
  readonly #live = new Set<StoredMessage>()
  onMessage: () => void = () => {}

  /** Messages whose event has no outcome. */
  get live(): number {
    return this.#live.size
  }

  put(json: string): StoredMessage {
    const stored = this.#store.put(json)
    this.#live.add(stored)
    this.messages.push(JSON.parse(json) as Message)
    this.onMessage()
    return stored
  }

  read(message: StoredMessage): string {
    return this.#store.read(message)
  }

  view(message: StoredMessage): Uint8Array {
    return this.#store.view(message)
  }

  copy(holders: readonly Holder[], target: Uint8Array, at: number): void {
    this.#store.copy(holders, target, at)
  }

  release(stored: StoredMessage): void {
    this.#live.delete(stored)
    this.#store.release(stored)
  }

  forget(messageId: string): void {
    const index = this.messages.findIndex((message) => message.messageId === messageId)
    if (index >= 0) this.messages.splice(index, 1)
  }
}

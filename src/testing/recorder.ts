import { MessageStore, type StoredMessage } from '../message/store.ts'

/** A store that also keeps a copy of each queued message for the test. */
export class Recorder<Message extends { messageId: string }> extends MessageStore {
  /** Always the same array. */
  readonly messages: Message[] = []
  readonly #live = new Set<StoredMessage>()
  onMessage: () => void = () => {}

  /** Messages whose event has no outcome. */
  get live(): number {
    return this.#live.size
  }

  override put(json: string): StoredMessage {
    const stored = super.put(json)
    this.#live.add(stored)
    this.messages.push(JSON.parse(json) as Message)
    this.onMessage()
    return stored
  }

  override release(stored: StoredMessage): void {
    this.#live.delete(stored)
    super.release(stored)
  }

  forget(messageId: string): void {
    const index = this.messages.findIndex((message) => message.messageId === messageId)
    if (index >= 0) this.messages.splice(index, 1)
  }
}

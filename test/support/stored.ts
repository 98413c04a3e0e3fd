import { createItem, type Item } from '../../src/core/item.ts'
import { serialize } from '../../src/message/serialize.ts'
import { type Holder, MessageStore, type StoredMessage } from '../../src/message/store.ts'

export function storeAll(
  messages: readonly object[],
  store: MessageStore = new MessageStore(),
): (Item & { stored: StoredMessage })[] {
  return messages.map((message, index) => {
    const stored = store.put(serialize(message, Number.POSITIVE_INFINITY))
    return Object.assign(createItem('track', index + 1), { stored, bytes: stored.bytes })
  })
}

export function textOf(store: MessageStore, { stored }: Holder): string {
  return stored === undefined ? '' : store.read(stored)
}

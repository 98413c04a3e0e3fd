import { SlabStore } from '../../src/delivery/slabs.ts'
import type { Holder, MessageStore, StoredMessage } from '../../src/delivery/store.ts'
import { serialize } from '../../src/message/serialize.ts'

/** These messages, stored one behind the other. */
export function storeAll(
  messages: readonly object[],
  store: MessageStore = new SlabStore(),
): { stored: StoredMessage }[] {
  return messages.map((message) => ({ stored: store.put(serialize(message)) }))
}

/** The JSON of what is stored. */
export function textOf(store: MessageStore, { stored }: Holder): string {
  return stored === undefined ? '' : store.read(stored)
}

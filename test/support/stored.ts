import { Store, type Stored } from '../../src/delivery/store.ts'
import { serialize } from '../../src/message/serialize.ts'

export const nowhere = (): Stored => ({ slab: undefined, start: 0, bytes: 0 })

/** These messages, stored one behind the other. */
export function storeAll(messages: readonly object[], store = new Store()): Stored[] {
  return messages.map((message) => {
    const entry = nowhere()
    store.put(entry, serialize(message))
    return entry
  })
}

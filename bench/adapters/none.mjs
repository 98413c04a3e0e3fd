/**
 * No client: events are created and discarded. It shows the cost of making the calls, which is subtracted from the
 * cost of a client.
 */
export async function open() {
  return { track() {}, confirm: () => Promise.resolve(), flush: async () => {}, close: async () => {} }
}

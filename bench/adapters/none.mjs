/**
 * The harness alone: events are built and discarded. Shows how much of every figure does not belong to the
 * client.
 */
export async function open() {
  return { track() {}, confirm: () => Promise.resolve(), flush: async () => {}, close: async () => {} }
}

/**
 * A 52-bit fingerprint of a message's text, to tell a re-sent message from a different one under the same
 * `messageId`. Names a conflict in the records and decides nothing, so it is quick rather than collision-proof.
 */
export function contentHash(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let low = 0x811c9dc5
  let high = 0x9e3779b9
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number
    low = Math.imul(low ^ byte, 0x01000193)
    high = Math.imul(high ^ byte, 0x85ebca6b) + 0x27d4eb2f
  }
  return (high & 0xfffff) * 0x1_0000_0000 + (low >>> 0)
}

/**
 * The content of an event is computed from its number, so that the oracle, the process of the test server, can check
 * the event without storing it.
 */

const LETTERS = 'The quick brown fox – Żółw, “naïve” café; 東京 🚀 \\ "quoted" \t and so on. '
const TEXT = LETTERS.repeat(700)
/** ASCII text, which engines store in half the memory. */
const PLAIN_TEXT = 'The quick brown fox jumps over the lazy dog. '.repeat(1_000)

/** `bytes` is roughly the size of the message. If `bytes` is odd, the text is ASCII. */
export interface TrackCall {
  userId: string
  event: string
  properties: { n: number; run: string; bytes: number; pad: string }
}

/** The size of a message without its padding, roughly. */
const OVERHEAD = 450

export function trackCall(run: string, n: number, bytes = 600): TrackCall {
  return {
    userId: `user-${n % 97}`,
    event: `Événement ${n % 7}`,
    properties: { n, run, bytes, pad: pad(n, bytes - OVERHEAD) },
  }
}

/** Text that has about `bytes` bytes as JSON. */
function pad(n: number, bytes: number): string {
  if (bytes <= 0) return ''
  if (bytes % 2 !== 0) return PLAIN_TEXT.slice(n % 45, (n % 45) + bytes)
  // The text begins at another letter for each event.
  const perRepeat = Buffer.byteLength(JSON.stringify(LETTERS)) - 2
  const length = Math.floor((bytes / perRepeat) * LETTERS.length)
  const from = (n * 31) % LETTERS.length
  // The client sends half an emoji as U+FFFD.
  return Buffer.from(TEXT.slice(from, from + length)).toString()
}

/** Returns the name of a field that differs from the event that was tracked. */
export function mismatch(message: Record<string, unknown>): string | undefined {
  const properties = message['properties'] as TrackCall['properties']
  const expected = trackCall(properties.run, properties.n, properties.bytes)
  if (JSON.stringify(properties) !== JSON.stringify(expected.properties)) return 'properties'
  if (message['event'] !== expected.event) return 'event'
  if (message['userId'] !== expected.userId) return 'userId'
  if (message['type'] !== 'track') return 'type'
  return undefined
}

/** A small seeded generator of random numbers (mulberry32), so that runs can be repeated. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

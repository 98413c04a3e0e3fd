import { byteLength } from './utf8.ts'

/** What an event counts for when it cannot be read, and the most that it counts for. */
const LARGEST = 32_768
const MAX_DEPTH = 64

interface Left {
  bytes: number
}

/**
 * About how many bytes of JSON `value` will have, for bounding what waits inside plugins. Cheaper than writing it:
 * punctuation is counted roughly and escapes are not. At most 32,768, since nothing larger is sent. Never throws.
 */
export function estimateBytes(value: unknown): number {
  const left = { bytes: LARGEST }
  try {
    count(value, left, 0)
  } catch {
    return LARGEST
  }
  return Math.min(LARGEST, LARGEST - left.bytes)
}

function count(value: unknown, left: Left, depth: number): void {
  if (typeof value === 'string') {
    // A text longer than all that is left is not measured to its end.
    left.bytes -= value.length > left.bytes ? value.length : byteLength(value) + 3
    return
  }
  left.bytes -= 5
  if (typeof value !== 'object' || value === null || left.bytes <= 0) return
  if (value instanceof Date) left.bytes -= 22
  if (depth >= MAX_DEPTH) throw new RangeError('too deep to be estimated')
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && left.bytes > 0; index++) count(value[index], left, depth + 1)
    return
  }
  for (const key of Object.keys(value)) {
    left.bytes -= key.length + 3
    count((value as Record<string, unknown>)[key], left, depth + 1)
    if (left.bytes <= 0) return
  }
}

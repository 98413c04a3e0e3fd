import { byteLength } from './utf8.ts'

const MAX_DEPTH = 64

interface Left {
  bytes: number
}

/**
 * About how many bytes of JSON `value` will have, for bounding what waits inside plugins. Cheaper than writing it:
 * punctuation is counted roughly and escapes are not. Never throws.
 *
 * @param largest The most that is returned, since nothing larger is sent; also for what cannot be read. Default: 32,768.
 */
export function estimateBytes(value: unknown, largest = 32_768): number {
  const left = { bytes: largest }
  try {
    count(value, left, 0)
  } catch {
    return largest
  }
  return Math.min(largest, largest - left.bytes)
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

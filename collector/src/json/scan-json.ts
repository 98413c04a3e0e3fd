/** The place of a batch item in the body, without the white space around it. Byte offsets; the end is exclusive. */
export interface Slice {
  start: number
  end: number
}

export interface ScanLimits {
  /** The scan stops where the nesting exceeds this depth. */
  maxDepth: number
  /** Further items are counted, and listed in `largeItems` if they are too large. */
  maxItems: number
  /** An item with more bytes than this is listed in `largeItems`. */
  maxItemBytes: number
}

export interface JsonShape {
  /** Offset at which the nesting becomes too deep; undefined if it does not. */
  tooDeepAt: number | undefined
  /** The first elements of the top-level `batch` array. If the key `batch` is repeated, those of the last array. */
  items: Slice[]
  /** Number of all elements of the array. */
  itemCount: number
  /** All elements with more than `maxItemBytes`, by their index. */
  largeItems: Map<number, Slice>
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}

function trimmed(bytes: Uint8Array, from: number, to: number): Slice | undefined {
  let start = from
  let end = to
  while (start < end && isBlank(bytes[start])) start++
  while (end > start && isBlank(bytes[end - 1])) end--
  return start < end ? { start, end } : undefined
}

/**
 * Measures a JSON text in one pass, without recursion and without creating values. Extreme nesting is found before the parser
 * runs, and so costs nothing. The sizes of items are measured here, because parsed values no longer have them. The result is
 * only meaningful if `JSON.parse` accepts the text.
 */
export function scanJson(bytes: Uint8Array, { maxDepth, maxItems, maxItemBytes }: ScanLimits): JsonShape {
  const length = bytes.length
  let items: Slice[] = []
  let itemCount = 0
  let largeItems = new Map<number, Slice>()
  let depth = 0
  let isRootObject = false
  let isInBatch = false
  let itemStart = 0
  let stringStart = 0
  let stringEnd = 0

  const closeItem = (end: number) => {
    const slice = trimmed(bytes, itemStart, end)
    itemStart = end + 1
    if (slice === undefined) return
    if (slice.end - slice.start > maxItemBytes) largeItems.set(itemCount, slice)
    if (itemCount < maxItems) items.push(slice)
    itemCount++
  }

  for (let i = 0; i < length; i++) {
    switch (bytes[i]) {
      case QUOTE: {
        const start = i
        i++
        while (i < length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
        if (depth === 1) {
          stringStart = start
          stringEnd = i + 1
        }
        break
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        if (depth > maxDepth) return { tooDeepAt: i, items: [], itemCount: 0, largeItems: new Map() }
        if (depth === 1) {
          isRootObject = bytes[i] === OPEN_BRACE
        } else if (depth === 2 && isRootObject && bytes[i] === OPEN_BRACKET) {
          // In an object, a bracket can only follow a key, so the last string is the key.
          if (isBatchKey(bytes, stringStart, stringEnd)) {
            isInBatch = true
            items = []
            itemCount = 0
            largeItems = new Map()
            itemStart = i + 1
          }
        }
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        if (isInBatch && depth === 2) {
          closeItem(i)
          isInBatch = false
        }
        depth--
        break
      case COMMA:
        if (isInBatch && depth === 2) closeItem(i)
        break
    }
  }
  return { tooDeepAt: undefined, items, itemCount, largeItems }
}

function isBatchKey(bytes: Uint8Array, start: number, end: number): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
  if (text === '"batch"') return true
  if (!text.includes('\\')) return false
  try {
    // For the parser, "b\u0061tch" is the same key as "batch", so it must be the same here.
    return JSON.parse(text) === 'batch'
  } catch {
    return false
  }
}

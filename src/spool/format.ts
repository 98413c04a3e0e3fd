import { crc32c } from './crc32c.ts'

/**
 * A segment is a file that contains a header and records. All numbers are little-endian.
 *
 * - header: `TRKSPOOL`, version (4 bytes), CRC-32C of these 12 bytes
 * - record: marker (4 bytes), CRC-32C of the rest of the record (4), length of the message (4), the message
 *
 * No message can contain the marker, which has bytes that do not occur in UTF-8. After a damaged record, the next record is
 * found by its marker.
 */
export const VERSION = 1
export const HEADER_BYTES = 16
export const RECORD_HEADER_BYTES = 12
/** Longest message of a valid record: the greatest allowed value of `maxMessageBytes`. */
const MAX_RECORD_MESSAGE_BYTES = 16_777_216

const MAGIC = Buffer.from('TRKSPOOL', 'latin1')
const MARKER = Buffer.from([0xfe, 0xff, 0xf8, 0xa5])

export function createHeader(version = VERSION, magic = MAGIC): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  magic.copy(header)
  header.writeUInt32LE(version, 8)
  header.writeUInt32LE(crc32c(header, 0, 12), 12)
  return header
}

/** Returns `undefined` for a damaged header. */
export function readVersion(header: Buffer, magic = MAGIC): number | undefined {
  if (header.length < HEADER_BYTES || header.compare(magic, 0, magic.length, 0, magic.length) !== 0) {
    return undefined
  }
  return header.readUInt32LE(12) === crc32c(header, 0, 12) ? header.readUInt32LE(8) : undefined
}

/** Writes a record at the offset `at`, where there must be enough room. Returns the offset of its end. */
export function writeRecord(target: Buffer, at: number, message: Uint8Array): number {
  const start = at + RECORD_HEADER_BYTES
  target.set(MARKER, at)
  target.writeUInt32LE(message.length, at + 8)
  target.set(message, start)
  const end = start + message.length
  target.writeUInt32LE(crc32c(target, at + 8, end), at + 4)
  return end
}

export type Found =
  | { readonly kind: 'record'; readonly start: number; readonly end: number }
  /**
   * No valid record up to `end`. `isTorn` is set when these bytes may be the beginning of a record that a crash has cut short.
   */
  | { readonly kind: 'damage'; readonly end: number; readonly isTorn: boolean }
  /** The record is longer than the bytes read so far. Its length is at least `bytes`. */
  | { readonly kind: 'incomplete'; readonly bytes: number }

/**
 * Reads the record at the offset `at`. Only the first `limit` bytes are valid.
 *
 * @param left Number of bytes from `at` to the end of the file. A record with a greater length is damaged.
 */
export function readRecord(bytes: Buffer, at: number, limit: number, left: number): Found {
  if (left < RECORD_HEADER_BYTES) return { kind: 'damage', end: at + left, isTorn: true }
  if (limit - at < RECORD_HEADER_BYTES) return { kind: 'incomplete', bytes: RECORD_HEADER_BYTES }
  let isTorn = false
  if (bytes.compare(MARKER, 0, MARKER.length, at, at + MARKER.length) === 0) {
    const length = bytes.readUInt32LE(at + 8)
    const size = RECORD_HEADER_BYTES + length
    isTorn = size > left
    // The length is checked before memory is allocated for the record.
    if (length > 0 && length <= MAX_RECORD_MESSAGE_BYTES && size <= left) {
      if (limit - at < size) return { kind: 'incomplete', bytes: size }
      const end = at + size
      if (bytes.readUInt32LE(at + 4) === crc32c(bytes, at + 8, end)) return { kind: 'record', start: at, end }
    }
  }
  return { kind: 'damage', end: findNext(bytes, at, limit, left), isTorn }
}

/** Returns the offset of the next marker after damaged bytes, or the end. */
function findNext(bytes: Buffer, at: number, limit: number, left: number): number {
  const next = bytes.subarray(0, limit).indexOf(MARKER, at + 1)
  if (next >= 0) return next
  // A marker may begin in the last bytes that were read.
  const isAll = limit - at >= left
  return isAll ? at + left : Math.max(at + 1, limit - MARKER.length + 1)
}

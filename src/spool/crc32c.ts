/** The Castagnoli polynomial, with its bits reversed. */
const POLYNOMIAL = 0x82f63b78
/** Number of bytes per step. There is one table for each of these bytes. */
const SLICES = 8

const tables = createTables()

/** @see RFC 3720, appendix B.4 */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as Tables
  let crc = -1
  let at = start
  const byte = (index: number): number => bytes[index] as number
  for (const last = end - SLICES; at <= last; at += SLICES) {
    crc ^= byte(at) | (byte(at + 1) << 8) | (byte(at + 2) << 16) | (byte(at + 3) << 24)
    crc =
      (t7[crc & 0xff] as number) ^
      (t6[(crc >>> 8) & 0xff] as number) ^
      (t5[(crc >>> 16) & 0xff] as number) ^
      (t4[crc >>> 24] as number) ^
      (t3[byte(at + 4)] as number) ^
      (t2[byte(at + 5)] as number) ^
      (t1[byte(at + 6)] as number) ^
      (t0[byte(at + 7)] as number)
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ (t0[(crc ^ byte(at)) & 0xff] as number)
  return (crc ^ -1) >>> 0
}

type Tables = [
  ...[Int32Array, Int32Array, Int32Array, Int32Array],
  ...[Int32Array, Int32Array, Int32Array, Int32Array],
]

function createTables(): Int32Array[] {
  const first = new Int32Array(256)
  for (let value = 0; value < 256; value++) {
    let crc = value
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1
    first[value] = crc
  }
  const all = [first]
  for (let slice = 1; slice < SLICES; slice++) {
    const before = all[slice - 1] as Int32Array
    all.push(before.map((crc) => (crc >>> 8) ^ (first[crc & 0xff] as number)))
  }
  return all
}

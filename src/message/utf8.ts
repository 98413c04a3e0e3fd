export interface Memory extends Uint8Array {
  /** Writes `text` as UTF-8 from the offset `at` on, where there must be enough room. Returns the number of bytes. */
  write(text: string, at: number): number
}

/** UTF-8 functions, made with the fastest API of the runtime: `Buffer` is several times faster than `TextEncoder`. */
interface Utf8 {
  byteLength(text: string): number
  /** May contain old data. */
  allocate(bytes: number): Memory
  read(bytes: Uint8Array): string
}

function withBuffer(): Utf8 {
  return {
    byteLength: Buffer.byteLength,
    // Below 4 KB, from the pool of `Buffer`, which is faster. Memory that lives long is larger.
    allocate: Buffer.allocUnsafe,
    read: ({ buffer, byteOffset, byteLength }) =>
      Buffer.from(buffer, byteOffset, byteLength).toString('utf8'),
  }
}

function withTextEncoder(): Utf8 {
  const encoder = new TextEncoder()
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  class EncodedMemory extends Uint8Array implements Memory {
    write(text: string, at: number): number {
      // `subarray()` would make an instance of this class, which takes 50 % longer.
      const rest = new Uint8Array(this.buffer, this.byteOffset + at, this.length - at)
      return encoder.encodeInto(text, rest).written
    }
  }
  return {
    byteLength: (text) => encoder.encode(text).length,
    allocate: (bytes) => new EncodedMemory(bytes),
    read: (bytes) => decoder.decode(bytes),
  }
}

/** The greatest number of UTF-8 bytes per UTF-16 code unit. */
export const MAX_BYTES_PER_UNIT = 3

export const { byteLength, allocate, read }: Utf8 =
  typeof Buffer === 'function' ? withBuffer() : withTextEncoder()

/** Exact length of `text` in UTF-8 bytes. */
export const byteLength: (text: string) => number =
  typeof Buffer === 'function'
    ? (text) => Buffer.byteLength(text, 'utf8')
    : (text) => new TextEncoder().encode(text).length

import type { Problem } from './record.ts'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const NOT_UTF8: Problem = {
  reason: 'invalid_utf8',
  message: 'this is not UTF-8; for a file of a spreadsheet on Windows: --encoding windows-1252',
}

/** Returns `undefined` when the bytes are not valid UTF-8. */
export function decode(bytes: Buffer): string | undefined {
  // The fast decoder turns invalid bytes into U+FFFD. Only a text with that character needs the slow, strict decoder.
  const text = bytes.toString('utf8')
  if (!text.includes('\uFFFD')) return text
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

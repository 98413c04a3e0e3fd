/**
 * Text as a database can keep it: U+0000, at which one cuts text and which another refuses, and lone surrogates, which all become
 * the same character, are written as JSON escapes. In a JSON text that is what they were; other texts stay apart.
 */
export function escapeForStore(text: string): string
export function escapeForStore(text: string | null): string | null
export function escapeForStore(text: string | null): string | null {
  if (text === null || (!text.includes('\u0000') && text.isWellFormed())) return text
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is replaced
    /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/**
 * Escapes the characters that a database cannot store: SQLite cuts text at U+0000, PostgreSQL refuses it, and lone surrogates
 * would all become the same character. They are written as JSON escapes: JSON text keeps its meaning, and other texts that
 * differ only in these characters stay different.
 */
export function escapeForStore(text: string): string
export function escapeForStore(text: string | null): string | null
export function escapeForStore(text: string | null): string | null {
  if (text === null || (!text.includes('\u0000') && text.isWellFormed())) return text
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these characters are replaced
    /\u0000|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

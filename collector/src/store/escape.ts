/**
 * Escapes U+0000 and lone surrogates, which databases cannot store: SQLite cuts text at U+0000, PostgreSQL refuses U+0000, and
 * UTF-8 encoding replaces lone surrogates by U+FFFD. The escapes are those of JSON, so JSON text keeps its meaning.
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

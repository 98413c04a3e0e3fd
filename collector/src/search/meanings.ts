/** Whether a key of a path may be an array index. */
export function isPlace(key: string): boolean {
  return /^\d{1,6}$/.test(key)
}

/**
 * SQLite ignores case only for ASCII letters. So a text with other letters is also searched in lower case, in upper case,
 * and with a capital first letter.
 */
export function caseVariants(text: string): string[] {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matches text that is only ASCII
  if (/^[\u0000-\u007f]*$/.test(text)) return [text]
  const lower = text.toLowerCase()
  const first = [...lower][0] ?? ''
  return [...new Set([text, lower, text.toUpperCase(), first.toUpperCase() + lower.slice(first.length)])]
}

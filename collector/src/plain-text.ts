/**
 * Accepts numbers, since services in other languages send them. Replaces U+0000 and lone surrogates, which databases cannot
 * store.
 */
export function idText(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : storable(value)
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? storable(value) : null
}

/** Whether a value is a text of white space alone. An empty text counts as missing instead. */
export function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.trim() === ''
}

/** Returns a text that the database returns unchanged. */
export function storable(value: string): string {
  const text = value.toWellFormed()
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

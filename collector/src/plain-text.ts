// biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for control characters
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/

/**
 * Accepts numbers, since services in other languages send them. Replaces lone surrogates, because the database could not tell
 * two such ids apart.
 */
export function idText(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : storable(value)
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? storable(value) : null
}

/** Whether an id could be mistaken for another id: the database ends text at a NUL, and control characters cannot be seen. */
export function isUnclearId(value: unknown): boolean {
  return typeof value === 'string' && (!value.isWellFormed() || CONTROLS.test(value))
}

/** Returns a text that the database returns unchanged. */
export function storable(value: string): string {
  const text = value.toWellFormed()
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

/** Percent-decodes a text. Returns the text unchanged if its encoding is invalid. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

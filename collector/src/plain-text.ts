// biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for control characters
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/

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

/** Whether an id could be mistaken for another id: `idText` would change it, or it has invisible control characters. */
export function isUnclearId(value: unknown): boolean {
  return typeof value === 'string' && (!value.isWellFormed() || CONTROLS.test(value))
}

/** Returns a text that the database returns unchanged. */
export function storable(value: string): string {
  const text = value.toWellFormed()
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

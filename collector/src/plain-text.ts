// biome-ignore lint/suspicious/noControlCharactersInRegex: this looks for control characters
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/

/**
 * An id as text. Numbers are accepted, as services in other languages send them. Null when it is absent or of another type.
 *
 * Lone surrogates are replaced: the database could not tell two such ids apart.
 */
export function idText(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : storable(value)
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null
}

/** A text that is not empty, or null. */
export function textOrNull(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? storable(value) : null
}

/** Whether an id could be mistaken for another one: the database ends text at a NUL, and people cannot see controls. */
export function isUnclearId(value: unknown): boolean {
  return typeof value === 'string' && (!value.isWellFormed() || CONTROLS.test(value))
}

/** Text that comes back from the database as it went in. */
export function storable(value: string): string {
  const text = value.toWellFormed()
  return text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text
}

const REFUSED = [Map, Set, Date, Error, Number, String, Boolean] as const

/** Whether a field that takes an object accepts `value`: also class instances and objects without a prototype. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || refusedName(value) === undefined
}

/** The type, and never the value, which may be personal data. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  if (value === '') return 'an empty string'
  if (typeof value === 'string' && value.trim() === '') return 'only white space'
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value)
  if (typeof value !== 'object') return `a ${typeof value}`
  const name = refusedName(value)
  if (name === undefined) return 'an object'
  if (name === 'Error') return 'an Error'
  if (name === 'Date') return dateMs(value) === undefined ? 'an invalid Date' : 'a Date'
  return name === 'Map' || name === 'Set' ? `a ${name}` : `a ${name} object`
}

/** `undefined` for an invalid Date and for any other value. */
export function dateMs(value: unknown): number | undefined {
  if (!(value instanceof Date)) return undefined
  const ms = value.getTime()
  return Number.isNaN(ms) ? undefined : ms
}

function refusedName(value: object): string | undefined {
  return REFUSED.find((type) => value instanceof type)?.name
}

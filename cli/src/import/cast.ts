import { quoted } from '../output/text.ts'
import type { Problem } from './record.ts'

/** `s` and `ms` are timestamps in seconds and in milliseconds. */
export const CASTS = ['text', 'number', 'boolean', 'json', 's', 'ms'] as const
export type Cast = (typeof CASTS)[number]

export type CastResult = { readonly value: unknown } | { readonly problem: Omit<Problem, 'column'> }

const NUMBER = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
const BOOLEANS: Record<string, boolean> = {
  true: true,
  false: false,
  yes: true,
  no: false,
  '1': true,
  '0': false,
  t: true,
  f: false,
}

export function cast(value: unknown, to: Cast): CastResult {
  if (value === undefined || value === null) return { value }
  switch (to) {
    case 'text':
      return { value: typeof value === 'object' ? JSON.stringify(value) : String(value) }
    case 'number':
      return castNumber(value)
    case 'boolean': {
      const found = typeof value === 'boolean' ? value : BOOLEANS[String(value).trim().toLowerCase()]
      return found === undefined ? wrong('true or false', value) : { value: found }
    }
    case 'json':
      return castJson(value)
    case 's':
    case 'ms': {
      const number = castNumber(value)
      if ('problem' in number) return number
      return { value: (number.value as number) * (to === 's' ? 1_000 : 1) }
    }
  }
}

function castNumber(value: unknown): CastResult {
  if (typeof value === 'number') return { value }
  const text = String(value).trim()
  return NUMBER.test(text) && Number.isFinite(Number(text))
    ? { value: Number(text) }
    : wrong('a number', value)
}

function castJson(value: unknown): CastResult {
  if (typeof value !== 'string') return { value }
  try {
    return { value: JSON.parse(value) }
  } catch {
    return wrong('JSON', value)
  }
}

const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?) ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/i

/** A smaller number is probably in seconds: in milliseconds, it would be a date before March 1973. */
const LEAST_MS = 100_000_000_000

/**
 * Databases write variants of ISO 8601. This converts them to a form that the SDK accepts. A time without a zone is read as
 * UTC, so that the result does not depend on the time zone of the machine.
 */
export function castTimestamp(value: unknown): CastResult {
  if (typeof value === 'number' && Math.abs(value) < LEAST_MS && value !== 0) {
    return wrong('milliseconds (for seconds: timestamp:s)', value)
  }
  if (typeof value !== 'string') return { value }
  const text = value.trim()
  if (/^-?\d+(?:\.\d+)?$/.test(text)) {
    return wrong('a date (for numbers: timestamp:s or timestamp:ms)', value)
  }
  const [, date, time, zone = 'Z'] = DATE_TIME.exec(text) ?? []
  if (date === undefined) return { value: text }
  const offset = /^(?:UTC|GMT)$/i.test(zone) ? 'Z' : /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone
  return { value: `${date}T${time}${offset}` }
}

function wrong(expected: string, value: unknown): CastResult {
  return { problem: { reason: 'invalid', message: `expected ${expected}, got ${quoted(value)}` } }
}

import { SettingsError } from '../errors/errors.ts'
import type { HTTPClient, HTTPFetchFn } from '../http/client.ts'
import { describe } from '../message/describe.ts'
import type { Logger } from '../runtime/log.ts'
import type { Spool } from './journal.ts'
import type { Signer } from './signer.ts'

/** Own properties only: a polluted `Object.prototype` must not configure the client. */
export function ownReader(given: object): (name: string) => unknown {
  const own = given as Record<string, unknown>
  return (name) => (Object.getOwnPropertyDescriptor(given, name) === undefined ? undefined : own[name])
}

export function readObject(name: string, value: unknown): object {
  if (typeof value === 'object' && value !== null) return value
  throw mismatch(name, 'an object', value)
}

export function readWriteKey(value: unknown): string {
  if (value !== undefined) return readWord('writeKey', value)
  const remedy = "write new Analytics({ writeKey: '...' }), or set the variable that it is read from"
  throw new SettingsError('writeKey', `expected a string, got undefined; ${remedy}`)
}

/** Colons too: the write keys of some services have the form `id:secret`. */
export function readWord(name: string, value: unknown): string {
  if (typeof value === 'string' && /^[\x21-\x7e]{1,1024}$/.test(value)) return value
  const got = typeof value === 'string' ? offence(value) : undefined
  throw mismatch(name, '1 to 1024 visible ASCII characters without spaces', value, got)
}

/** RFC 6749, section 3.3. */
export function readScope(name: string, value: unknown): string {
  if (typeof value === 'string' && value.length <= 1024 && /^[!#-[\]-~]+(?: [!#-[\]-~]+)*$/.test(value))
    return value
  const got = typeof value === 'string' && value !== '' ? 'another string' : undefined
  throw mismatch(name, 'words separated by single spaces', value, got)
}

export function readInteger(
  name: string,
  value: unknown,
  rule: { readonly default: number; readonly min: number; readonly max: number; readonly unit: string },
): number {
  if (value === undefined) return rule.default
  if (typeof value === 'number' && Number.isInteger(value) && value >= rule.min && value <= rule.max)
    return value
  const got = typeof value === 'number' ? `the number ${value}` : undefined
  throw mismatch(name, `an integer from ${rule.min} to ${rule.max} (${rule.unit})`, value, got)
}

export function readChoice<Choice extends string>(
  name: string,
  value: unknown,
  rule: { readonly default: Choice; readonly choices: readonly Choice[] },
): Choice {
  if (value === undefined) return rule.default
  const choice = rule.choices.find((one) => one === value)
  if (choice !== undefined) return choice
  const got = typeof value === 'string' ? 'another string' : undefined
  const choices = rule.choices.map((one) => `'${one}'`).join(' or ')
  throw mismatch(name, choices, value, got)
}

export function readUrl(name: string, value: unknown): string {
  const fail = (got?: string): never => {
    const expected = 'an absolute http or https URL without credentials, query and fragment'
    throw mismatch(name, expected, value, got)
  }
  if (typeof value !== 'string') return fail()
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(value)) {
    return fail("one that does not begin with 'https://' or 'http://'; write the scheme in front")
  }
  let url: URL
  try {
    url = new URL(value)
  } catch {
    return fail('a string that is not a URL')
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return fail(`one with the scheme ${url.protocol}`)
  if (url.username !== '' || url.password !== '') return fail('one with credentials')
  // `url.search` and `url.hash` are not used, because they are also empty if the text ends in `?` or `#`.
  if (/[?#]/.test(value)) return fail('one with a query or fragment')
  return url.origin + url.pathname.replace(/\/+$/, '')
}

export function readPath(name: string, value: unknown): string {
  if (typeof value !== 'string') throw mismatch(name, 'a string', value)
  const offending = /\s/.test(value) ? 'white space' : /[?#\\]/.exec(value)?.[0]
  if (offending !== undefined) {
    const expected = 'a path without spaces, query, fragment and backslashes'
    throw mismatch(name, expected, value, `a string with ${offending}`)
  }
  return value.startsWith('/') ? value : `/${value}`
}

/** Makes a reader for values that need no other check than `isFit`, and may be left out. */
function optional<Value>(expected: string, isFit: (value: { [Name in string]?: unknown } | null) => boolean) {
  return (name: string, value: unknown): Value | undefined => {
    if (value === undefined || isFit(value as object | null)) return value as Value | undefined
    throw mismatch(name, expected, value)
  }
}

const isFunction = (value: unknown): boolean => typeof value === 'function'

export const readBoolean = optional<boolean>('a boolean', (value) => typeof value === 'boolean')
export const readSwitch = optional<boolean | (() => boolean)>(
  'a boolean or a function',
  (value) => typeof value === 'boolean' || isFunction(value),
)
export const readFunction = optional<() => never>('a function', isFunction)
export const readLogger = optional<Logger>('an object with debug, info, warn and error', (value) =>
  ['debug', 'info', 'warn', 'error'].every((method) => isFunction(value?.[method])),
)
export const readSpool = optional<Spool>('a FileSpool', (value) => isFunction(value?.['open']))
export const readHttpClient = optional<HTTPClient | HTTPFetchFn>(
  'a function or an object with makeRequest',
  (value) => isFunction(value) || isFunction(value?.['makeRequest']),
)

/** RFC 7518, section 3.1; RFC 8037. */
export function readSigner(name: string, value: unknown): Signer | undefined {
  if (value === undefined) return undefined
  const { algorithm, sign } = readObject(name, value) as Partial<Record<keyof Signer, unknown>>
  if (!isFunction(sign)) throw mismatch(`${name}.sign`, 'a function', sign)
  if (typeof algorithm === 'string' && /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA)$/.test(algorithm)) {
    return value as Signer
  }
  const got = typeof algorithm === 'string' ? 'another string' : undefined
  throw mismatch(`${name}.algorithm`, "a JWS algorithm such as 'RS256'", algorithm, got)
}

/** @param got Describes the value without quoting it, because it may be a secret. Default: its type. */
function mismatch(name: string, expected: string, value: unknown, got = describe(value)): SettingsError {
  return new SettingsError(name, `expected ${expected}, got ${got}`)
}

function offence(text: string): string {
  if (text === '') return 'an empty string'
  if (text.length > 1024) return `a string of ${text.length} characters`
  return /\s/.test(text) ? 'a string with white space' : 'a string with other characters'
}

/** Headers that the client sets itself, and headers of the connection. */
const TAKEN = new Set(
  (
    'authorization content-type content-length content-encoding user-agent accept-encoding x-retry-count ' +
    'host connection keep-alive proxy-connection transfer-encoding te trailer upgrade expect'
  ).split(' '),
)
/** A header name (RFC 9110, section 5.1). */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/i
/** Line breaks would begin another header, and spaces at the ends would be cut off. */
const VALUE = /^[!-~](?:[\t -~]{0,8190}[!-~])?$/

export function readHeaders(name: string, value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined) return undefined
  const given = readObject(name, value)
  // A `Headers` object, a Map or a list is refused, because its entries are not properties and would be lost.
  if (Symbol.iterator in given) throw new SettingsError(name, 'expected a plain object of names and values')
  const seen = new Set<string>()
  const entries = Object.entries(given).filter(([, text]) => text !== undefined)
  for (const [header, text] of entries) {
    if (!NAME.test(header)) throw new SettingsError(name, 'a name has characters that no header name has')
    const field = `${name}.${header}`
    const lower = header.toLowerCase()
    if (TAKEN.has(lower)) throw new SettingsError(field, 'this header is set by the client or HTTP')
    if (seen.has(lower)) throw new SettingsError(field, 'this header is given twice')
    seen.add(lower)
    if (typeof text !== 'string') throw mismatch(field, 'a string', text)
    if (!VALUE.test(text)) {
      throw new SettingsError(
        field,
        'expected 1 to 8192 visible ASCII characters, with spaces only between them',
      )
    }
  }
  return Object.freeze(Object.fromEntries(entries))
}

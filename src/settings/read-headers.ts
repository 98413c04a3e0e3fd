import { SettingsError } from '../errors/errors.ts'
import { mismatch, readObject } from './read.ts'

/** Headers that the client sets itself, and those of the connection. */
const TAKEN = new Set(
  (
    'authorization content-type content-length content-encoding user-agent accept-encoding x-retry-count ' +
    'host connection keep-alive proxy-connection transfer-encoding te trailer upgrade expect'
  ).split(' '),
)
/** RFC 9110, section 5.1. */
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]{1,256}$/i
/** Without line breaks, which would begin another header; visible at both ends, where spaces are cut off. */
const VALUE = /^[!-~](?:[\t -~]{0,8190}[!-~])?$/

/**
 * A frozen copy of further request headers.
 *
 * @throws SettingsError when a name is none, is given twice or is taken, and when a value could not be sent as it is.
 */
export function readHeaders(name: string, value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined) return undefined
  const given = readObject(name, value)
  // A Headers object, a Map or a list has no properties, and would stand for no headers at all.
  if (Symbol.iterator in given) throw new SettingsError(name, 'expected a plain object of names and values')
  const seen = new Set<string>()
  const entries = Object.entries(given).filter(([, text]) => text !== undefined)
  for (const [header, text] of entries) {
    if (!NAME.test(header)) throw new SettingsError(name, 'a name has characters that no header name has')
    const field = `${name}.${header}`
    const lower = header.toLowerCase()
    if (TAKEN.has(lower)) throw new SettingsError(field, 'this header is set by the client itself')
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

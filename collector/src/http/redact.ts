import type { IncomingHttpHeaders } from 'node:http'
import { decoded } from '../percent-decoding.ts'

/** Replaces credentials in records of requests, which everybody sees who may see the events. */
const REDACTED = '[redacted]'

/** Also matches a value that is cut off at the end of the text. */
const JSON_TEXT = /"((?:[^"\\]|\\.)*)"(\s*:\s*")(?:[^"\\]|\\.)*("|\\?$)/g
const FORM_FIELD = /(^|[?&;\s"])([\w%.+-]{1,60})=[^&;\s"]+/g
const SECRET_HEADER = /auth|cookie|key|token|secret|password|credential|signature|session/
/** The settings of a browser library: `/v1/projects/<write key>/settings`. */
const PROJECT = /^(\/+v1\/+projects\/+)[^/]+/

/** Headers of HTTP whose names only look like those of credentials. */
const PUBLIC_HEADERS: ReadonlySet<string> = new Set(['access-control-request-headers', 'sec-websocket-key'])

function isWriteKey(name: string): boolean {
  return /^write[-_]?key$/i.test(name)
}

/** Replaces the write keys in a part of a body, in JSON and in forms, however their names are escaped. */
export function redactBody(text: string): string {
  // A fast check: most bodies have no write key.
  if (!/rite[-_]?key|\\u|%/i.test(text)) return text
  return text
    .replace(JSON_TEXT, (whole, key: string, between: string, end: string) =>
      isWriteKey(unescaped(key)) ? `"${key}"${between}${REDACTED}${end}` : whole,
    )
    .replace(FORM_FIELD, redactField)
}

/** The path of a request without its query and without a write key. */
export function redactPath(path: string): string {
  return path.replace(/\?.*$/s, '').replace(PROJECT, `$1${REDACTED}`)
}

export function redactHeaders(given: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === '__proto__') continue
    const isSecret = SECRET_HEADER.test(name) && !PUBLIC_HEADERS.has(name)
    headers[name] = isSecret ? REDACTED : redactHeader(String(value))
  }
  return headers
}

function redactHeader(value: string): string {
  // A `Referer` may have a write key in its query.
  return value.includes('=') ? value.replace(FORM_FIELD, redactField) : value
}

function redactField(whole: string, before: string, name: string): string {
  return isWriteKey(decoded(name)) ? `${before}${name}=${REDACTED}` : whole
}

function unescaped(key: string): string {
  if (!key.includes('\\')) return key
  try {
    return JSON.parse(`"${key}"`) as string
  } catch {
    return key
  }
}

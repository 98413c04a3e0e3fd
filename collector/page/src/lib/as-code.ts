import { KINDS } from '../../../src/record.ts'
import type { Message, RequestDetails } from './types.ts'

/** Quotes a text for a POSIX shell. */
function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Escapes characters that are invisible, or that reorder text on a screen. */
function escaped(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

type Sent = Pick<RequestDetails, 'method' | 'path' | 'headers' | 'body'>

/** A request that sends the message alone. */
export function requestOf({ writeKey: _, ...message }: Message): Sent {
  const kind = KINDS.find((one) => one === message['type']) ?? 'track'
  const headers = { authorization: '', 'content-type': 'application/json' }
  return { method: 'POST', path: `/v1/${kind}`, headers, body: escaped(JSON.stringify(message)) }
}

/** The collector keeps no credentials, so the user has to fill them in. */
export function asCurl({ method, path, headers, body }: Sent, base: string): string {
  const type = headers['content-type']
  return [
    `curl -X ${shellQuoted(method)}`,
    ...(headers['authorization'] === undefined ? [] : [`-u "$TRACKPOST_WRITE_KEY:"`]),
    ...(type === undefined ? [] : [`-H ${shellQuoted(`Content-Type: ${type}`)}`]),
    ...(body === null || body === '' ? [] : [`--data-binary ${shellQuoted(body)}`]),
    shellQuoted(`${base}${path}`),
  ].join(' \\\n  ')
}

export function collectorBase(): string {
  return location.href.replace(/[#?].*$/, '').replace(/\/$/, '')
}

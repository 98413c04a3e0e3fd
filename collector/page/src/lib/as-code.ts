import { isObject } from './diff.ts'
import type { Message, RequestDetails } from './types.ts'

const KINDS = new Set(['identify', 'track', 'page', 'screen', 'group', 'alias'])
/** Fields that the service or the client library adds to a message. */
const FILLED_IN = new Set([
  'type',
  'sentAt',
  'receivedAt',
  'originalTimestamp',
  'writeKey',
  '_metadata',
  'channel',
])

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

function asCalled(message: Message): Message {
  const entries = Object.entries(message).filter(([name, value]) => {
    if (FILLED_IN.has(name)) return false
    const isEmpty = isObject(value) && Object.keys(value).length === 0
    return !(isEmpty && (name === 'integrations' || name === 'context'))
  })
  const { library: _, ...context } = isObject(message['context']) ? message['context'] : {}
  return Object.fromEntries(
    entries.flatMap(([name, value]) =>
      name !== 'context' ? [[name, value]] : Object.keys(context).length === 0 ? [] : [['context', context]],
    ),
  )
}

function kindOf(message: Message): string {
  const { type } = message
  return typeof type === 'string' && KINDS.has(type) ? type : 'track'
}

/** The collector does not store the write key, so the user has to fill it in. */
export function asCurl(message: Message, base: string): string {
  const { writeKey: _, ...body } = message
  const json = escaped(JSON.stringify(body))
  return `curl -u "$TRACKPOST_WRITE_KEY:" -H 'Content-Type: application/json' \\\n  -d ${shellQuoted(json)} \\\n  ${shellQuoted(`${base}/v1/${kindOf(message)}`)}`
}

/** The request with its body as it came; undefined if its body was not kept as a whole. */
export function asCurlRequest(
  {
    method,
    path,
    headers,
    body,
    bodyIsCut,
  }: Pick<RequestDetails, 'method' | 'path' | 'headers' | 'body' | 'bodyIsCut'>,
  base: string,
): string | undefined {
  if (bodyIsCut) return undefined
  const type = headers['content-type']
  return [
    `curl -X ${shellQuoted(method)}`,
    // The collector does not keep credentials.
    ...(headers['authorization'] === undefined ? [] : [`-u "$TRACKPOST_WRITE_KEY:"`]),
    ...(type === undefined ? [] : [`-H ${shellQuoted(`Content-Type: ${type}`)}`]),
    ...(body === null || body === '' ? [] : [`--data-binary ${shellQuoted(body)}`]),
    shellQuoted(`${base}${path}`),
  ].join(' \\\n  ')
}

export function asTrackpost(message: Message, base: string): string {
  const { timestamp, ...rest } = asCalled(message)
  const json = escaped(JSON.stringify(rest, null, 2)).replace(
    /^( *)"([A-Za-z_$][\w$]*)":/gm,
    // Written as `__proto__: …`, the key would set the prototype of the object.
    (_, indent, name) => (name === '__proto__' ? `${indent}['__proto__']:` : `${indent}${name}:`),
  )
  const time =
    typeof timestamp === 'string'
      ? json.replace(/\n}$/, `,\n  timestamp: new Date(${escaped(JSON.stringify(timestamp))})\n}`)
      : json
  return `import { Analytics } from 'trackpost'

const analytics = new Analytics({ writeKey: process.env.TRACKPOST_WRITE_KEY, host: '${base}' })
analytics.${kindOf(message)}(${time})
await analytics.closeAndFlush()
`
}

export function collectorBase(): string {
  return location.href.replace(/[#?].*$/, '').replace(/\/$/, '')
}

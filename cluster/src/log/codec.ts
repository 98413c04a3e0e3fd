import { createHash, randomBytes } from 'node:crypto'
import {
  type NewEvent,
  type NewRequest,
  parseInexact,
  stringifyExact,
  TEXT_NAMES,
} from 'trackpost-collector/ports'

/**
 * The format of a message of the log: a line with the version and the key of the message, and for each event a line with its
 * fields (JSON) and a line with its body. The body is already JSON text, and is neither escaped nor parsed on its way to the
 * store. Events that inherit fields from their batch come after a line `inherited` and a line with the inherited fields.
 *
 * A message contains the events of a request, because a message for each event takes more processor time. Encoding, publishing
 * and nats-server 2.9 together took 12 to 18 µs per event with messages of 20 events, and 64 to 67 µs with messages of one
 * event.
 */
const VERSION = '1'
const INHERITED = 'inherited'

/** Maximum size of a message. A message with a single large event may be larger. */
export const MAX_CHUNK_BYTES = 256 * 1024
/** The events of a message are written in one transaction. */
const MAX_CHUNK_EVENTS = 1000

export interface Chunk {
  /** Unique for each message. By the key, the store recognises a message that is delivered again. */
  key: string
  payload: Buffer
  /** An id that is the same when a client repeats the request; undefined when repeated requests cannot be recognised. */
  dedupId: string | undefined
}

export interface DecodedMessage {
  key: string
  events: NewEvent[]
  /** Events that cannot be decoded, each encoded as a separate message. */
  broken: Array<{ key: string; payload: Buffer; reason: string }>
}

export class DecodeError extends Error {
  override readonly name = 'DecodeError'
}

const KEY_PREFIX = randomBytes(9).toString('base64url')
let lastKey = 0

/** Divides the events of a request into messages, in order. */
export function encode(events: readonly NewEvent[], maxBytes = MAX_CHUNK_BYTES): Chunk[] {
  const chunks: Chunk[] = []
  let start = 0
  let lines: string[] = []
  let bytes = 0
  let inherited: string | undefined
  const finish = (end: number) => {
    lastKey++
    const key = `${KEY_PREFIX}-${lastKey.toString(36)}`
    chunks.push({ key, payload: payloadOf(key, lines), dedupId: dedupIdOf(events.slice(start, end)) })
    start = end
    lines = []
    bytes = 0
    inherited = undefined
  }
  for (const [index, event] of events.entries()) {
    const text = linesOf(event)
    const size = Buffer.byteLength(text)
    const withShared = () => size + (event.inherited === inherited ? 0 : sizeOfShared(event.inherited))
    if (index > start && (bytes + withShared() > maxBytes || index - start >= MAX_CHUNK_EVENTS)) finish(index)
    bytes += withShared()
    if (event.inherited !== undefined && event.inherited !== inherited) {
      inherited = event.inherited
      lines.push(inheritedLines(inherited))
    }
    lines.push(text)
  }
  if (events.length > start) finish(events.length)
  return chunks
}

export function encodeOne(key: string, event: NewEvent): Buffer {
  const shared = event.inherited === undefined ? [] : [inheritedLines(event.inherited)]
  return payloadOf(key, [...shared, linesOf(event)])
}

/** Appends `attempt` to the key of a message. A payload that is not a message of this format is returned unchanged. */
export function underNewKey(payload: Uint8Array, attempt: string): Uint8Array {
  const text = Buffer.from(payload)
  const end = text.indexOf('\n')
  const [version, key] = text.toString('utf8', 0, Math.max(0, end)).split(' ')
  if (version !== VERSION || key === undefined) return payload
  const [own] = key.split('.')
  return Buffer.concat([Buffer.from(`${version} ${own}.${attempt}`), text.subarray(end)])
}

function payloadOf(key: string, lines: readonly string[]): Buffer {
  return Buffer.from(`${VERSION} ${key}\n${lines.join('')}`)
}

function inheritedLines(text: string): string {
  return `${INHERITED}\n${text}\n`
}

function sizeOfShared(text: string | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(inheritedLines(text))
}

function linesOf({ body, inherited, ...rest }: NewEvent): string {
  const fields = inherited === undefined ? rest : { ...rest, inherits: true }
  // JSON written by the collector has no line breaks, but another program may have written the body.
  if (body === null || body === '' || body.includes('\n')) return `${JSON.stringify({ ...fields, body })}\n\n`
  return `${JSON.stringify(fields)}\n${body}\n`
}

/**
 * A hash of the sources, messageIds and reasons of the events, which stay the same when a client repeats a request. If a client
 * corrects a rejected event and sends it again with the same messageId, the reason is different, and so is the hash.
 */
function dedupIdOf(events: readonly NewEvent[]): string | undefined {
  const hash = createHash('sha256')
  for (const { source, messageId, reason } of events) {
    if (messageId === null) return undefined
    hash.update(JSON.stringify([source, messageId, reason]))
  }
  return hash.digest('base64url')
}

/** @throws DecodeError when the payload is not a message of this format. An event that is wrong is returned in `broken`. */
export function decode(payload: Uint8Array): DecodedMessage {
  const lines = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8').split('\n')
  const [version, key] = (lines[0] as string).split(' ')
  if (version !== VERSION || key === undefined || key === '' || key.length > 200) {
    throw new DecodeError('the message was not written by a collector of this version')
  }
  if (lines.length % 2 !== 0 || lines.at(-1) !== '') throw new DecodeError('the message is cut off')
  const decoded: DecodedMessage = { key, events: [], broken: [] }
  let inherited: string | undefined
  for (let index = 1; index + 1 < lines.length; index += 2) {
    const [fields, body] = [lines[index] as string, lines[index + 1] as string]
    if (fields === INHERITED) {
      inherited = body
      continue
    }
    try {
      decoded.events.push(eventOf(fields, body, inherited))
    } catch (cause) {
      const own = `${key}/line-${index}`
      const shared = inherited === undefined ? [] : [inheritedLines(inherited)]
      const payload = payloadOf(own, [...shared, `${fields}\n${body}\n`])
      decoded.broken.push({ key: own, payload, reason: (cause as Error).message })
    }
  }
  return decoded
}

function eventOf(line: string, body: string, inherited: string | undefined): NewEvent {
  let fields: (Partial<NewEvent> & { inherits?: unknown }) | null
  try {
    fields = JSON.parse(line)
  } catch {
    throw new DecodeError('a line of the message is not JSON')
  }
  const { inherits, ...own } = fields ?? {}
  const event = { ...own, ...(body !== '' && { body }) } as NewEvent
  if (typeof event.body === 'string' && event.body !== '') event.body = soundBody(event.body)
  if (inherits === true) {
    if (!isObjectText(inherited))
      throw new DecodeError('the inherited fields of an event are missing or not an object')
    event.inherited = inherited
  }
  const wrong = wrongField(event)
  if (wrong !== undefined)
    throw new DecodeError(`the field ${wrong} of an event is missing or of another type`)
  return event
}

/**
 * The text of a message as the store takes it. Another program, or a collector of an earlier version, may have written the text:
 * what is no JSON object would break the queries for all events.
 */
function soundBody(text: string): string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new DecodeError('the message of an event is not JSON')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new DecodeError('the message of an event is not an object')
  const inexact = parseInexact(text)
  return inexact?.isOutOfRange ? stringifyExact(inexact.exact) : text
}

/** Remembers the last valid text, because the events of a batch have the same text. */
function isObjectText(text: string | undefined): text is string {
  if (text === undefined) return false
  if (text === lastObjectText) return true
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  } catch {
    return false
  }
  lastObjectText = text
  return true
}

let lastObjectText: string | undefined

type Check = (value: unknown) => boolean
const isText: Check = (value) => typeof value === 'string'
const isTextOrNull: Check = (value) => value === null || typeof value === 'string'
const isTime: Check = (value) => typeof value === 'number' && Number.isSafeInteger(value)
const isList: Check = (value) => Array.isArray(value)
const isAbsentOr =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)

const FIELDS: ReadonlyArray<[keyof NewEvent, Check]> = [
  ['source', isText],
  ['reason', isTextOrNull],
  ['kind', isTextOrNull],
  ...TEXT_NAMES.map((name): [keyof NewEvent, Check] => [name, isTextOrNull]),
  ['receivedAtMs', isTime],
  ['receivedAt', isText],
  ['timestampMs', (value) => typeof value === 'number'],
  ['body', isTextOrNull],
  ['deliveries', isList],
  ['requestId', isAbsentOr(isText)],
  ['sent', isAbsentOr((value) => typeof value === 'object')],
  ['violations', isAbsentOr(isList)],
  ['warnings', isAbsentOr(isList)],
]

/** Deliveries of one event. */
const MAX_DELIVERIES = 1000

/** Returns a field whose value has the wrong type. Such a value could crash the native code of a database driver. */
function wrongField(event: NewEvent): string | undefined {
  const wrong = FIELDS.find(([name, isRight]) => !isRight(event[name]))
  if (wrong !== undefined) return wrong[0]
  const areSound =
    event.deliveries.length <= MAX_DELIVERIES &&
    event.deliveries.every(
      (one) => typeof one === 'object' && isText(one?.destination) && isAbsentOr(isText)(one.skippedBecause),
    )
  return areSound ? undefined : 'deliveries'
}

/**
 * Encodes records of requests as messages of at most `maxBytes`. A record that is too large is encoded without headers and
 * body. If the record is still too large, it is left out.
 */
export function encodeRequests(requests: readonly NewRequest[], maxBytes = MAX_CHUNK_BYTES): Buffer[] {
  const messages: string[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const request of requests) {
    let text = JSON.stringify(request)
    if (sizeOf(text) > maxBytes)
      text = JSON.stringify({ ...request, headers: {}, body: null, bodyIsCut: true })
    const size = sizeOf(text)
    if (size > maxBytes) continue
    if (bytes + size > maxBytes) {
      messages.push([])
      bytes = 0
    }
    messages.at(-1)?.push(text)
    bytes += size
  }
  return messages.map((texts) => Buffer.from(`[${texts.join()}]`))
}

/** The size of a text in a JSON array, with its separator. */
function sizeOf(text: string): number {
  return Buffer.byteLength(text) + 2
}

/** Records that are not valid are left out, because records of requests are only shown to people. */
export function decodeRequests(payload: Uint8Array): NewRequest[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    return Array.isArray(value) ? value.filter(isRequest) : []
  } catch {
    return []
  }
}

const REQUEST_TYPES: Readonly<Record<string, 'string' | 'number'>> = {
  id: 'string',
  atMs: 'number',
  method: 'string',
  path: 'string',
  status: 'number',
  address: 'string',
  bodyBytes: 'number',
  inflatedBytes: 'number',
  durationMs: 'number',
  events: 'number',
  accepted: 'number',
}

function isRequest(value: unknown): value is NewRequest {
  const fields = value as Record<string, unknown> | null
  if (typeof fields !== 'object' || fields === null) return false
  if (typeof fields['headers'] !== 'object' || typeof fields['bodyIsCut'] !== 'boolean') return false
  // The native code of a database driver could crash because of a boolean.
  if (Object.entries(fields).some(([name, own]) => typeof own === 'boolean' && name !== 'bodyIsCut'))
    return false
  return Object.entries(REQUEST_TYPES).every(([name, type]) => typeof fields[name] === type)
}

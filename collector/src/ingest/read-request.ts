import { isUtf8 } from 'node:buffer'
import { HttpProblem } from '../http/reply.ts'
import { isObject } from '../json/is-object.ts'
import { findJsonError, position } from '../json/json-error.ts'
import { roundedItems } from '../json/rounded.ts'
import { type Kind, REASONS, type Reason, type RequestProblem, type Warning } from '../record.ts'
import { isObjectOrAbsent, MAX_EVENT_BYTES } from './message.ts'
import { readTime } from './timestamp.ts'

/** Maximum size of a batch. The service documents 500 KB, which is read as 500 x 1024 bytes. */
const MAX_BATCH_BYTES = 500 * 1024
const MAX_JSON_DEPTH = 64
/** Limited, because even a tiny message costs time. */
const MAX_ITEMS = 5000

const BYTE_ORDER_MARK = '\ufeff'

export interface TrackingRequest {
  writeKey: unknown
  /** An ISO 8601 time. */
  sentAt: string | undefined
  context: unknown
  integrations: unknown
  items: unknown[]
  /** Size of each message; undefined if all are within the limit because the body is. */
  sizes: readonly number[] | undefined
  /** Indexes of the messages with a number that was rounded. */
  rounded: ReadonlySet<number>
  /** Warnings about every message of the request. */
  warnings: Warning[]
}

/** A request of which no event is accepted. It is recorded with the reason. */
export class Refusal extends HttpProblem {
  readonly reason: Reason
  readonly problem: RequestProblem
  /** The messages that could still be recognised. */
  readonly items: readonly RefusedItem[]

  /** @param answer What the client is told; default: 400 with the problem. */
  constructor(
    reason: Reason,
    {
      message = REASONS[reason] as string,
      place = {} as Pick<RequestProblem, 'offset' | 'line' | 'column'>,
      items = [] as readonly RefusedItem[],
      answer = new HttpProblem(400, reason, message, {}, place),
    } = {},
  ) {
    super(answer.status, answer.code, answer.message, answer.headers, answer.more)
    this.reason = reason
    this.problem = { code: reason, message, ...place }
    this.items = items
  }
}

export interface RefusedItem {
  value: unknown
  reason: Reason
}

export function maxBodyBytes(path: Kind | 'batch'): number {
  return path === 'batch' ? MAX_BATCH_BYTES : MAX_EVENT_BYTES
}

/**
 * The size of a message in a batch is that of its JSON without white space. If one message is over the limit, the service refuses
 * the whole batch with 400, so no message of the batch may be accepted.
 *
 * @throws Refusal
 */
export function readRequest(body: Buffer, path: Kind | 'batch'): TrackingRequest {
  if (!isUtf8(body)) throw notUtf8(body)
  const whole = body.toString('utf8')
  const hasMark = whole.startsWith(BYTE_ORDER_MARK)
  const text = hasMark ? whole.slice(1) : whole
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw notJson(text)
  }
  if (isDeeper(parsed, MAX_JSON_DEPTH)) throw new Refusal('too_deep')
  if (!isObject(parsed)) throw new Refusal('not_an_object')
  const warnings: Warning[] = hasMark ? ['byte_order_mark'] : []
  const { batch, writeKey, sentAt, context, integrations } = parsed
  if (path !== 'batch') {
    // A single message has `sentAt`, `context` and `integrations` itself.
    const own = { sentAt: undefined, context: undefined, integrations: undefined, items: [parsed] }
    const rounded = roundedItems(text, (value) => [value])?.items ?? new Set()
    return { writeKey, ...own, sizes: undefined, rounded, warnings }
  }
  if (!Array.isArray(batch)) throw new Refusal('batch_not_an_array')
  // After a 200, the client would believe that the messages over the limit were delivered too.
  if (batch.length > MAX_ITEMS) throw new Refusal('too_many_items')
  const hasInherited = context !== undefined || integrations !== undefined
  const isMeasured = body.length > MAX_EVENT_BYTES || hasInherited
  const sizes = isMeasured ? batch.map((item) => Buffer.byteLength(JSON.stringify(item))) : undefined
  if (sizes?.some((bytes) => bytes > MAX_EVENT_BYTES)) throw tooLarge(batch, sizes)
  // Each message gets a copy of `sentAt`, so a long text in it would multiply.
  const isTime = readTime(sentAt) !== undefined
  const isLeftOut = !isTime && sentAt !== undefined && sentAt !== null
  if (isLeftOut || !isObjectOrAbsent(context) || !isObjectOrAbsent(integrations)) warnings.push('batch_field')
  const rounded = roundedItems(text, (value) => (value as { batch: unknown[] }).batch)
  if (rounded?.isAround) warnings.push('number')
  return {
    writeKey,
    sentAt: isTime ? (sentAt as string) : undefined,
    context,
    integrations,
    items: batch,
    sizes,
    rounded: rounded?.isAround ? new Set() : (rounded?.items ?? new Set()),
    warnings,
  }
}

/** Recursive, but never deeper than the limit. */
function isDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (limit === 0) return true
  for (const one of Array.isArray(value) ? value : Object.values(value)) {
    if (typeof one === 'object' && isDeeper(one, limit - 1)) return true
  }
  return false
}

function tooLarge(batch: readonly unknown[], sizes: readonly number[]): Refusal {
  const index = sizes.findIndex((bytes) => bytes > MAX_EVENT_BYTES)
  const items = batch.map((value, at): RefusedItem => {
    return { value, reason: (sizes[at] ?? 0) > MAX_EVENT_BYTES ? 'event_too_large' : 'batch_refused' }
  })
  const message = `item ${index} has ${sizes[index]} bytes, the limit is ${MAX_EVENT_BYTES}`
  return new Refusal('event_too_large', { message, items })
}

function notJson(text: string): Refusal {
  try {
    const mistake = findJsonError(text)
    if (mistake !== undefined) return refusedAt(text, mistake.offset, mistake.message)
  } catch {
    // The text is nested too deeply for the search, which is recursive.
  }
  return new Refusal('invalid_json')
}

/** The place is behind the characters that could be read. */
function notUtf8(body: Buffer): Refusal {
  // The decoder writes U+FFFD in their place.
  const text = body.toString('utf8').replace(/\ufffd.*/s, '')
  return refusedAt(text, text.length, 'the body is not UTF-8 here')
}

function refusedAt(text: string, end: number, message: string): Refusal {
  const { line, column } = position(text, end)
  const offset = Buffer.byteLength(text.slice(0, end))
  return new Refusal('invalid_json', { message, place: { offset, line, column } })
}

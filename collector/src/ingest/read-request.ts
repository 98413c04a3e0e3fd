import { isUtf8 } from 'node:buffer'
import { type Inexact, mayBeInexact, parseInexact } from '../json/exact-json.ts'
import { findJsonError, position } from '../json/json-error.ts'
import { type JsonShape, type Slice, scanJson } from '../json/scan-json.ts'
import { type Kind, REASONS, type Reason, type Warning } from '../record.ts'
import type { RequestProblem } from '../store/ports.ts'
import { MAX_EVENT_BYTES } from './message.ts'
import { readTime } from './timestamp.ts'

/** Maximum size of a batch. The service documents 500 KB, which is read as 500 x 1024 bytes. */
const MAX_BATCH_BYTES = 500 * 1024
const MAX_JSON_DEPTH = 64
/** Limited, because even a tiny message costs time. */
const MAX_ITEMS = 5000

const LIMITS = { maxDepth: MAX_JSON_DEPTH, maxItems: MAX_ITEMS, maxItemBytes: MAX_EVENT_BYTES }
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

export interface TrackingRequest {
  writeKey: unknown
  /** An ISO 8601 time. */
  sentAt: string | undefined
  context: unknown
  integrations: unknown
  items: unknown[]
  /** The place of each message in the body. */
  slices: readonly Slice[]
  /** The body, if it may have numbers that JavaScript cannot represent. */
  inexactBody: Buffer | undefined
  /** The fields of a batch except its messages, if they have such numbers. */
  inexact: Inexact | undefined
  /** Warnings about every message of the request. */
  warnings: Warning[]
}

/** Why the response to a request is 400. `items` are the messages that could still be recognised. */
export interface BadRequest {
  refused: Reason
  problem: RequestProblem
  items?: RefusedItem[]
}

export interface RefusedItem {
  value: unknown
  reason: Reason
}

export function maxBodyBytes(path: Kind | 'batch'): number {
  return path === 'batch' ? MAX_BATCH_BYTES : MAX_EVENT_BYTES
}

/** Creates a refusal without a position in the body. */
export function refusal(refused: Reason): BadRequest {
  return { refused, problem: { code: refused, message: REASONS[refused] } }
}

/**
 * The size of a message in a batch is the number of its bytes in the body. If one message is over the limit, the service
 * refuses the whole batch with 400, so no message of the batch may be accepted.
 */
export function readRequest(body: Buffer, path: Kind | 'batch'): TrackingRequest | BadRequest {
  const hasMark = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)
  const bytes = hasMark ? body.subarray(BYTE_ORDER_MARK.length) : body
  const shape = scanJson(bytes, LIMITS)
  if (shape.tooDeepAt !== undefined) return refusedAt('too_deep', bytes, shape.tooDeepAt)
  if (!isUtf8(bytes))
    return refusedAt('invalid_json', bytes, invalidUtf8At(bytes), 'the body is not UTF-8 here')
  let parsed: unknown
  let inexactBody: Buffer | undefined
  try {
    const text = bytes.toString('utf8')
    parsed = JSON.parse(text)
    if (mayBeInexact(text)) inexactBody = bytes
  } catch {
    return notJson(bytes)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return refusal('not_an_object')
  const warnings: Warning[] = hasMark ? ['byte_order_mark'] : []
  const { batch, writeKey, sentAt, context, integrations } = parsed as Record<string, unknown>
  if (path !== 'batch') {
    // A single message has `sentAt`, `context` and `integrations` itself.
    const slices = [{ start: 0, end: bytes.length }]
    return {
      writeKey,
      sentAt: undefined,
      context: undefined,
      integrations: undefined,
      items: [parsed],
      slices,
      inexactBody,
      inexact: undefined,
      warnings,
    }
  }
  if (!Array.isArray(batch)) return refusal('batch_not_an_array')
  // After a 200, the client would believe that the messages over the limit were delivered too.
  if (batch.length > MAX_ITEMS) return refusal('too_many_items')
  if (shape.largeItems.size > 0) return tooLarge(bytes, batch, shape)
  // Each message gets a copy of `sentAt`, so a long text in it would multiply.
  const isTime = readTime(sentAt) !== undefined
  const isLeftOut = !isTime && sentAt !== undefined && sentAt !== null
  if (isLeftOut || !isObjectOrAbsent(context) || !isObjectOrAbsent(integrations)) warnings.push('batch_field')
  const inexact = inexactBody && parseInexact(textAround(inexactBody, shape.items))
  if (inexact?.isOutOfRange) warnings.push('number')
  return {
    writeKey,
    sentAt: isTime ? (sentAt as string) : undefined,
    context,
    integrations,
    items: batch,
    slices: shape.items,
    inexactBody,
    inexact,
    warnings,
  }
}

/** The text of a batch without its messages. */
function textAround(bytes: Buffer, items: readonly Slice[]): string {
  const [first, last] = [items[0], items.at(-1)]
  if (first === undefined || last === undefined) return bytes.toString('utf8')
  return bytes.toString('utf8', 0, first.start) + bytes.toString('utf8', last.end)
}

function isObjectOrAbsent(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && !Array.isArray(value))
}

function tooLarge(bytes: Buffer, batch: readonly unknown[], { largeItems }: JsonShape): BadRequest {
  const [[index, slice]] = largeItems as unknown as [[number, Slice]]
  const size = `item ${index} has ${slice.end - slice.start} bytes, the limit is ${MAX_EVENT_BYTES}`
  const items = batch.map((value, at): RefusedItem => {
    return { value, reason: largeItems.has(at) ? 'event_too_large' : 'batch_refused' }
  })
  return { ...refusedAt('event_too_large', bytes, slice.start, size), items }
}

function notJson(bytes: Buffer): BadRequest {
  const text = bytes.toString('utf8')
  const mistake = findJsonError(text)
  if (mistake === undefined) return refusal('invalid_json')
  const { offset, line, column, message } = mistake
  return {
    refused: 'invalid_json',
    problem: {
      code: 'invalid_json',
      message,
      offset: Buffer.byteLength(text.slice(0, offset)),
      line,
      column,
    },
  }
}

function refusedAt(
  refused: Reason,
  bytes: Buffer,
  offset: number,
  message: string = REASONS[refused],
): BadRequest {
  const text = bytes.toString('utf8', 0, offset)
  const { line, column } = position(text, text.length)
  return { refused, problem: { code: refused, message, offset, line, column } }
}

function invalidUtf8At(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let low = 0
  let high = bytes.length
  // Finds the longest valid beginning by bisection. With `stream`, an incomplete character at the end is not an error.
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    try {
      decoder.decode(bytes.subarray(0, middle), { stream: true })
      low = middle
    } catch {
      high = middle - 1
    }
    // Flushes the decoder, so that it can be used again.
    try {
      decoder.decode()
    } catch {}
  }
  return low
}

import { isUtf8 } from 'node:buffer'
import type { Kind, Reason } from '../record.ts'
import { scanJson } from './scan-json.ts'

/** Limits of spec section 3, read as 32 x 1024 and 500 x 1024 bytes. */
export const MAX_EVENT_BYTES = 32 * 1024
export const MAX_BATCH_BYTES = 500 * 1024
/** Levels of objects and arrays in a body. */
export const MAX_JSON_DEPTH = 64

/** A request taken apart. */
export interface TrackingRequest {
  writeKey: unknown
  sentAt: unknown
  context: unknown
  integrations: unknown
  /** The messages, as parsed. */
  items: unknown[]
}

/** Why a request is answered 400; `items` are what could still be made out in it. */
export interface BadRequest {
  refused: Reason
  items?: RefusedItem[]
}

/** One message of a refused request. */
interface RefusedItem {
  value: unknown
  reason: Reason
}

/** Largest body of a path, bytes. */
export function maxBodyBytes(path: Kind | 'batch'): number {
  return path === 'batch' ? MAX_BATCH_BYTES : MAX_EVENT_BYTES
}

/**
 * Takes a body apart, or says why it cannot be.
 *
 * The size of a batch item is that of its bytes in the body. An item over the limit has the whole batch refused:
 * the client is told 400, so nothing of it may be kept.
 */
export function readRequest(body: Buffer, path: Kind | 'batch'): TrackingRequest | BadRequest {
  if (!isUtf8(body)) return { refused: 'invalid_json' }
  const shape = scanJson(body, MAX_JSON_DEPTH)
  if (shape.isTooDeep) return { refused: 'too_deep' }
  let parsed: unknown
  try {
    parsed = JSON.parse(body.toString('utf8'))
  } catch {
    return { refused: 'invalid_json' }
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    return { refused: 'not_an_object' }
  }
  const { batch, writeKey, sentAt, context, integrations } = parsed as Record<string, unknown>
  if (path !== 'batch') {
    // The item holds these itself.
    return { writeKey, sentAt: undefined, context: undefined, integrations: undefined, items: [parsed] }
  }
  if (!Array.isArray(batch)) return { refused: 'batch_not_an_array' }
  const sizes = shape.items.map(({ start, end }) => end - start)
  if (sizes.some((bytes) => bytes > MAX_EVENT_BYTES)) {
    const items = batch.map((value: unknown, index): RefusedItem => {
      const isTooLarge = (sizes[index] ?? 0) > MAX_EVENT_BYTES
      return { value, reason: isTooLarge ? 'event_too_large' : 'batch_refused' }
    })
    return { refused: 'event_too_large', items }
  }
  return { writeKey, sentAt, context, integrations, items: batch }
}

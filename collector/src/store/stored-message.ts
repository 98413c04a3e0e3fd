import { isObject } from '../json/is-object.ts'
import type { Message } from '../record.ts'

/** Returns null if there is no text, or if it is not a JSON object: one damaged event must not break a query for all. */
export function storedMessage(body: string | null): Message | null {
  if (body === null) return null
  try {
    const value: unknown = JSON.parse(body)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** As {@link storedMessage}, for other columns with JSON. */
export function storedJson<T>(text: string | null, otherwise: T): T {
  if (text === null) return otherwise
  try {
    return JSON.parse(text) as T
  } catch {
    return otherwise
  }
}

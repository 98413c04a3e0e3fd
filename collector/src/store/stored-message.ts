import { parseExact } from '../json/exact-json.ts'
import type { Message } from '../record.ts'

/**
 * Parses the text of a stored message.
 *
 * @returns Null if there is no text, or if it is not a JSON object: another program may have written the event to the log. One
 *   event must not break a query for all.
 */
export function storedMessage(
  body: string | null,
  parse: (text: string) => unknown = parseExact,
): Message | null {
  if (body === null) return null
  try {
    const value = parse(body)
    return typeof value === 'object' && !Array.isArray(value) ? (value as Message | null) : null
  } catch {
    return null
  }
}

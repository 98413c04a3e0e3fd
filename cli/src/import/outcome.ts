import type { DeliveryError } from 'trackpost'
import type { Problem } from './record.ts'

export type LineOutcome =
  /** The line is at fault: other lines may be accepted. */
  | { readonly outcome: 'refused'; readonly problem: Problem }
  /** The service is at fault: every other line would fail too. */
  | { readonly outcome: 'undelivered'; readonly problem: Problem }

/** Status codes with which a service refuses the content of an event. */
const CONTENT_STATUSES = new Set<number | undefined>([400, 422])
const LINE_CODES = new Set(['invalid', 'unserializable', 'too_large', 'plugin'])

/** @param columnOf Returns the column from which a field comes. */
export function judge(error: DeliveryError, columnOf: (field: string) => string): LineOutcome {
  const { code, message, status, response } = error
  const detail =
    response === undefined || message.includes(response) ? message : `${message}: ${response.trim()}`
  if (LINE_CODES.has(code))
    return { outcome: 'refused', problem: { reason: code, message, ...columnIn(message, columnOf) } }
  const problem = { reason: code, message: detail }
  return { outcome: code === 'rejected' && CONTENT_STATUSES.has(status) ? 'refused' : 'undelivered', problem }
}

/** A message of the client begins with the method and often the field: `track: timestamp: expected ...`. */
function columnIn(message: string, columnOf: (field: string) => string): { column?: string } {
  const [, field] = /^\w+: (\w+): /.exec(message) ?? []
  if (field !== undefined) return { column: columnOf(field) }
  return / userId or anonymousId/.test(message) ? { column: columnOf('userId') } : {}
}

import type { DeliveryError } from 'trackpost'
import type { Problem } from './record.ts'

/** The meaning of a client error for its line. */
export type LineOutcome =
  /** The line is to blame: another one may well be taken. */
  | { readonly outcome: 'refused'; readonly problem: Problem }
  /** The service cannot be used: so would be every other line. */
  | { readonly outcome: 'undelivered'; readonly problem: Problem }

/** Statuses with which a service refuses what an event holds. */
const CONTENT_STATUSES = new Set<number | undefined>([400, 422])
const LINE_CODES = new Set(['invalid', 'unserializable', 'too_large', 'plugin'])

/** Whose fault a failure is. @param columnOf The column that a field of the message comes from. */
export function judge(error: DeliveryError, columnOf: (field: string) => string): LineOutcome {
  const { code, message, status, response } = error
  const detail =
    response === undefined || message.includes(response) ? message : `${message}: ${response.trim()}`
  if (LINE_CODES.has(code))
    return { outcome: 'refused', problem: { reason: code, message, ...columnIn(message, columnOf) } }
  const problem = { reason: code, message: detail }
  return { outcome: code === 'rejected' && CONTENT_STATUSES.has(status) ? 'refused' : 'undelivered', problem }
}

/** The messages of the client begin with call and field: `track: timestamp: expected ...`. */
function columnIn(message: string, columnOf: (field: string) => string): { column?: string } {
  const [, field] = /^\w+: (\w+): /.exec(message) ?? []
  if (field !== undefined) return { column: columnOf(field) }
  return / userId or anonymousId/.test(message) ? { column: columnOf('userId') } : {}
}

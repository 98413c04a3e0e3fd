import { parseExact } from '../../json/exact-json.ts'
import type { EventRecord, Message } from '../../record.ts'
import { differenceWith } from '../inherited.ts'
import type { SentDifference } from '../ports.ts'
import type { EventDetail } from '../query-results.ts'
import { asSent, differenceOf } from '../sent.ts'

/** So many repeats of an event are shown with it. */
export const REPEATS_SHOWN = 20

/** The columns from which `sentFacts` is derived. */
export interface SentRow {
  body: string | null
  sent: string | null
}

/**
 * Tells the message as it was sent, as far as the difference to the one that is kept is known.
 *
 * @param inherited What the event takes over from its batch.
 */
export function sentFacts(
  { message }: EventRecord,
  row: SentRow | undefined,
  inherited: string | undefined,
): Pick<EventDetail, 'sent' | 'difference'> {
  if (!row?.sent || row.body === null || message === null) return { sent: null, difference: null }
  const own = parseExact(row.body) as Message
  const noted = JSON.parse(row.sent) as SentDifference
  const difference = differenceWith(own, inherited, noted)
  return { sent: asSent(own, noted), difference: differenceOf(message, difference) }
}

/** How far the client's clock was behind when it sent the event. */
export function clockSkewMs({ message, receivedAt }: EventRecord): number | null {
  const sentAtMs = typeof message?.sentAt === 'string' ? Date.parse(message.sentAt) : Number.NaN
  return Number.isNaN(sentAtMs) ? null : Date.parse(receivedAt) - sentAtMs
}

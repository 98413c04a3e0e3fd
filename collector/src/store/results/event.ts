import type { EventRecord } from '../../record.ts'
import type { SentDifference } from '../ports.ts'
import type { EventDetail } from '../query-results.ts'
import { asSent, differenceOf } from '../sent.ts'

/** So many repeats of an event are shown with it. */
export const REPEATS_SHOWN = 20

/** What was sent, as far as the difference to what is kept is known. */
export function sentFacts(
  { message }: EventRecord,
  sent: string | null,
): Pick<EventDetail, 'sent' | 'difference'> {
  if (sent === null || message === null) return { sent: null, difference: null }
  const difference = JSON.parse(sent) as SentDifference
  return { sent: asSent(message, difference), difference: differenceOf(message, difference) }
}

/** How far the client's clock was behind when it sent the event. */
export function clockSkewMs({ message, receivedAt }: EventRecord): number | null {
  const sentAtMs = typeof message?.sentAt === 'string' ? Date.parse(message.sentAt) : Number.NaN
  return Number.isNaN(sentAtMs) ? null : Date.parse(receivedAt) - sentAtMs
}

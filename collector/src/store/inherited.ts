import { parseExact, stringifyExact } from '../json/exact-json.ts'
import type { Message } from '../record.ts'
import type { NewEvent, SentDifference } from './ports.ts'

/**
 * The fields of a batch that each message in the batch inherits. They are merged one level deep: for each key, the value in
 * the message replaces the inherited value.
 */
export const INHERITED_FIELDS = ['context', 'integrations'] as const
export type InheritedField = (typeof INHERITED_FIELDS)[number]

/** Whether a field of a message is one of `INHERITED_FIELDS`. */
export function isInherited(field: string | undefined): field is InheritedField {
  return INHERITED_FIELDS.some((one) => one === field)
}

/** The fields that the messages of a batch inherit, parsed. Fields that are absent or not objects are left out. */
export type InheritedFields = { [field in InheritedField]?: Readonly<Record<string, unknown>> }

/**
 * Merges the inherited fields of the batch into a message. Inherited fields are stored once for each batch: stored with each
 * message, a batch of 5,000 messages could take up thousands of times more space than its request.
 *
 * @param inherited The inherited fields as JSON text; undefined or null when there are none.
 * @param parse Parses `inherited`.
 */
export function merged(
  message: Message,
  inherited: string | null | undefined,
  parse: (text: string) => unknown = JSON.parse,
): Message {
  return inherited ? mergedWith(message, parse(inherited) as InheritedFields) : message
}

/** Like `merged`, for a message that is JSON text. */
export function mergedText(body: string, inherited: string | null | undefined): string {
  return inherited ? stringifyExact(merged(parseExact(body) as Message, inherited, parseExact)) : body
}

function mergedWith(message: Message, inherited: InheritedFields): Message {
  const whole = { ...message }
  for (const field of INHERITED_FIELDS) {
    // Spread syntax defines own properties, so a key "__proto__" does not set the prototype.
    if (inherited[field] !== undefined) whole[field] = { ...inherited[field], ...message[field] }
  }
  return whole
}

/** For each event, the index of the first in its run of events with the same inherited fields; null = it inherits nothing. */
export function inheritedPlaces(events: readonly NewEvent[]): Array<number | null> {
  let text: string | undefined
  let first = 0
  return events.map(({ inherited }, index) => {
    if (inherited === undefined) return null
    if (inherited !== text) {
      text = inherited
      first = index
    }
    return first
  })
}

/** The differences between the merged message and the message sent: those recorded on receipt, and the inherited fields. */
export function differenceWith(
  own: Message,
  inherited: string | null | undefined,
  noted: SentDifference,
): SentDifference {
  if (!inherited) return noted
  const fields = JSON.parse(inherited) as InheritedFields
  const added = [...noted.added]
  for (const field of INHERITED_FIELDS) {
    const outer = fields[field]
    if (outer === undefined || added.includes(field) || Object.hasOwn(noted.changed, field)) continue
    const inner: unknown = own[field]
    if (inner === undefined) added.push(field)
    else
      for (const key of Object.keys(outer)) {
        if (!Object.hasOwn(inner as object, key)) added.push(`${field}.${key}`)
      }
  }
  return { ...noted, added }
}

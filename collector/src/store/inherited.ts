import { parseExact, stringifyExact } from '../json/exact-json.ts'
import type { Message } from '../record.ts'
import type { NewEvent, SentDifference } from './ports.ts'
import { storedMessage } from './stored-message.ts'

/**
 * The fields of a batch that its messages inherit. They are merged one level deep: for each key, the value in the message
 * replaces the inherited value.
 */
export const INHERITED_FIELDS = ['context', 'integrations'] as const
export type InheritedField = (typeof INHERITED_FIELDS)[number]

export function isInherited(field: string | undefined): field is InheritedField {
  return INHERITED_FIELDS.some((one) => one === field)
}

/** Fields that are absent or not objects are left out. */
export type InheritedFields = { [field in InheritedField]?: Readonly<Record<string, unknown>> }

/**
 * Inherited fields are stored once for each batch. Stored with each message, a batch of 5,000 messages could take up thousands
 * of times more space than its request.
 *
 * @param inherited JSON text of `InheritedFields`.
 */
export function merged(
  message: Message,
  inherited: string | null | undefined,
  parse: (text: string) => unknown = JSON.parse,
): Message {
  return inherited ? mergedWith(message, parse(inherited) as InheritedFields) : message
}

export function mergedText(body: string, inherited: string | null | undefined): string {
  const message = inherited ? storedMessage(body) : null
  return message === null ? body : stringifyExact(merged(message, inherited, parseExact))
}

function mergedWith(message: Message, inherited: InheritedFields): Message {
  const whole = { ...message }
  for (const field of INHERITED_FIELDS) {
    // Spread syntax defines own properties, so a key "__proto__" does not set the prototype.
    if (inherited[field] !== undefined) whole[field] = { ...inherited[field], ...message[field] }
  }
  return whole
}

/** Consecutive events with the same inherited fields share the index of the first one; null = the event inherits nothing. */
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

/** Adds the inherited fields to the differences that were recorded on receipt (`noted`). */
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

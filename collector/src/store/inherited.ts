import { parseExact, stringifyExact } from '../json/exact-json.ts'
import type { Message } from '../record.ts'
import type { NewEvent, SentDifference } from './ports.ts'

/**
 * The fields of a batch that its items inherit, key by key, one level deep: an item's own value replaces the whole inherited
 * one.
 */
export const INHERITED_FIELDS = ['context', 'integrations'] as const
export type InheritedField = (typeof INHERITED_FIELDS)[number]

/** Whether a field of a message is one of `INHERITED_FIELDS`. */
export function isInherited(field: string | undefined): field is InheritedField {
  return INHERITED_FIELDS.some((one) => one === field)
}

/** The fields that items inherit from their batch, parsed. Fields that are absent or no objects are left out. */
export type InheritedFields = { [field in InheritedField]?: Readonly<Record<string, unknown>> }

/**
 * Merges the inherited fields of the batch into a message. They are not stored with each message: a batch of 5,000 items could
 * become thousands of times larger than it was sent.
 *
 * @param inherited The inherited fields, stored once for the batch; undefined or null when there are none.
 * @param parse Parses `inherited`.
 */
export function merged(
  message: Message,
  inherited: string | null | undefined,
  parse: (text: string) => unknown = JSON.parse,
): Message {
  return inherited ? mergedWith(message, parse(inherited) as InheritedFields) : message
}

/** Merges the inherited fields into a message that is JSON text. */
export function mergedText(body: string, inherited: string | null | undefined): string {
  return inherited ? stringifyExact(merged(parseExact(body) as Message, inherited, parseExact)) : body
}

function mergedWith(message: Message, inherited: InheritedFields): Message {
  const whole = { ...message }
  for (const field of INHERITED_FIELDS) {
    // Spread defines own properties, so a "__proto__" key stays data.
    if (inherited[field] !== undefined) whole[field] = { ...inherited[field], ...message[field] }
  }
  return whole
}

/** For each event, the index of the first event with the same inherited fields; null = it inherits nothing. */
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

/** The differences of a merged message from the message sent: those recorded on receipt, and the inherited fields. */
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

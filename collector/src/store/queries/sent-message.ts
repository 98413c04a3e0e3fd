import { isObject } from '../../json/is-object.ts'
import type { SentDifference } from '../../new-event.ts'
import type { Message } from '../../record.ts'

/** Restores the message as the client sent it, except for values that the collector removed. */
export function asSent(kept: Message, { added, changed }: SentDifference): Message {
  const sent: Message = { ...kept, ...changed }
  for (const field of added) delete sent[field]
  return sent
}

/** The paths of what was added, changed and removed. Fields of a batch are merged one level deep into those of a message. */
export function differenceOf(kept: Message, { added, changed, removed }: SentDifference) {
  const paths = { added: [...added], changed: [] as Change[], removed: [...removed] }
  const compare = (path: string, sent: unknown, kept: unknown) => {
    if (!isEqual(sent, kept)) paths.changed.push({ path, sent, kept })
  }
  for (const [field, sent] of Object.entries(changed)) {
    const now: unknown = kept[field] ?? null
    if (!isObject(sent) || !isObject(now)) compare(field, sent, now)
    else
      for (const [key, value] of Object.entries(now)) {
        if (Object.hasOwn(sent, key)) compare(`${field}.${key}`, sent[key], value)
        else paths.added.push(`${field}.${key}`)
      }
  }
  return paths
}

export interface Change {
  path: string
  sent: unknown
  kept: unknown
}

/** Another way to write the same value is no difference: `2026-05-17T09:30:00Z` and `2026-05-17T09:30:00.000Z`. */
function isEqual(sent: unknown, kept: unknown): boolean {
  if (JSON.stringify(sent) === JSON.stringify(kept)) return true
  return typeof sent === 'string' && typeof kept === 'string' && Date.parse(sent) === Date.parse(kept)
}

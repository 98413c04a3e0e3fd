import type { SentDifference } from '../../new-event.ts'
import type { Message } from '../../record.ts'

/**
 * Restores the message as the client sent it, except for values that the collector removed.
 */
export function asSent(own: Message, difference: SentDifference): Message {
  const sent = structuredClone(own)
  for (const path of difference.added) {
    const [holder, key] = place(sent, path)
    if (holder !== undefined) delete holder[key]
  }
  for (const [path, value] of Object.entries(difference.changed)) {
    const [holder, key] = place(sent, path)
    if (holder !== undefined) define(holder, key, value)
  }
  return sent
}

/** Adds the stored value of each changed path. */
export function differenceOf(kept: Message, difference: SentDifference) {
  return {
    added: [...difference.added],
    changed: Object.entries(difference.changed).flatMap(([path, sent]) => {
      const [holder, key] = place(kept, path)
      const value = holder?.[key] ?? null
      return isEqual(sent, value) ? [] : [{ path, sent, kept: value }]
    }),
    removed: [...difference.removed],
  }
}

/** Another way to write the same value is no difference: `2026-05-17T09:30:00Z` and `2026-05-17T09:30:00.000Z`. */
function isEqual(sent: unknown, kept: unknown): boolean {
  if (JSON.stringify(sent) === JSON.stringify(kept)) return true
  return typeof sent === 'string' && typeof kept === 'string' && Date.parse(sent) === Date.parse(kept)
}

/** Finds the object that contains the last key of a path, and this key. Only own keys are followed. Keys may contain dots. */
function place(root: Message, path: string): [holder: Record<string, unknown> | undefined, key: string] {
  let holder: Record<string, unknown> = root
  let rest = path
  for (;;) {
    if (Object.hasOwn(holder, rest)) return [holder, rest]
    const end = rest.indexOf('.')
    if (end < 0) return [holder, rest]
    const next = Object.hasOwn(holder, rest.slice(0, end)) ? holder[rest.slice(0, end)] : undefined
    if (typeof next !== 'object' || next === null) return [undefined, rest]
    holder = next as Record<string, unknown>
    rest = rest.slice(end + 1)
  }
}

function define(holder: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true })
}

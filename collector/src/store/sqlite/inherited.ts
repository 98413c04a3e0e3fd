import type { Database } from './database.ts'

/**
 * The inherited fields of an event; null = none.
 *
 * @param known What was read before: events that share one come in a row.
 */
export function inheritedOf(
  database: Database,
  seq: number | null,
  known: Map<number, string | null>,
): string | null {
  if (seq === null) return null
  let text = known.get(seq)
  if (text === undefined) {
    text = database.value<string>('SELECT body AS value FROM inherited WHERE seq = ?', seq) ?? null
    known.set(seq, text)
  }
  return text
}

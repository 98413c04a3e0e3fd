import type { Queryable } from './database.ts'

/** Inherited fields of events, by the numbers that they name; null names nothing. */
export async function inheritedOf(
  database: Queryable,
  seqs: ReadonlyArray<number | null>,
): Promise<Map<number, string>> {
  const distinct = [...new Set(seqs)].filter((seq) => seq !== null)
  if (distinct.length === 0) return new Map()
  const rows = await database.query<{ seq: number; body: string }>(
    'SELECT seq, body FROM inherited WHERE seq = ANY ($1::bigint[])',
    [distinct],
  )
  return new Map(rows.map(({ seq, body }) => [seq, body]))
}

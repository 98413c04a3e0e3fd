import type { Database } from './database.ts'

/**
 * The messageIds of the accepted events that are stored. They are kept in memory: in an index of the file, each would change a page
 * of its own, and that took most of the time of an insertion.
 */
export class MessageIds {
  readonly #database: Database
  readonly #seqs = new Map<string, number>()

  constructor(database: Database) {
    this.#database = database
    // As two texts: a row for each event takes twice as long to read.
    const all = database.get<{ keys: string; seqs: string }>(
      `SELECT json_group_array(source || char(10) || messageId) AS keys, json_group_array(seq) AS seqs FROM (
         SELECT seq, source, messageId FROM event WHERE reason IS NULL AND messageId IS NOT NULL ORDER BY seq)`,
    )
    const keys: string[] = JSON.parse(all?.keys ?? '[]')
    const seqs: number[] = JSON.parse(all?.seqs ?? '[]')
    for (const [index, key] of keys.entries()) this.#seqs.set(key, seqs[index] ?? 0)
  }

  find(source: string, messageId: string): { seq: number; body: string | null } | undefined {
    const seq = this.#seqs.get(keyOf(source, messageId))
    if (seq === undefined) return undefined
    // The event may have been deleted, or rolled back with its transaction: then another one may have its number.
    return this.#database.get({
      text: 'SELECT seq, body FROM event WHERE seq = ? AND messageId = ? AND source = ? AND reason IS NULL',
      values: [seq, messageId, source],
    })
  }

  add(source: string, messageId: string, seq: number): void {
    const key = keyOf(source, messageId)
    // The oldest event stays first.
    this.#seqs.delete(key)
    this.#seqs.set(key, seq)
  }

  /** Forgets the events up to this one, which were deleted. */
  forget(lastSeq: number): void {
    for (const [key, seq] of this.#seqs) {
      if (seq > lastSeq) break
      this.#seqs.delete(key)
    }
  }
}

function keyOf(source: string, messageId: string): string {
  return `${source}\n${messageId}`
}

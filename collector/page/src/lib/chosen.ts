import type { Question } from './feed.ts'
import { getJson, sendJson } from './http.ts'
import type { EventDetails, EventPage } from './types.ts'

/** Events that one action of the page may delete. */
export const MAX_CHOSEN = 10_000
/** Maximum number of ids in one request. */
const PER_REQUEST = 1000
const READS_AT_ONCE = 6

/** The ids of the newest events that match, at most `MAX_CHOSEN`. */
export async function matchingIds(question: Question): Promise<string[]> {
  const ids: string[] = []
  for (let cursor: string | null = ''; cursor !== null && ids.length < MAX_CHOSEN; ) {
    const parameters = new URLSearchParams({
      ...question,
      order: 'newest',
      view: 'summary',
      limit: String(PER_REQUEST),
      cursor,
    })
    const page: EventPage = await getJson(`api/events?${parameters}`)
    ids.push(...page.events.map(({ id }) => id))
    cursor = page.next
  }
  return ids.slice(0, MAX_CHOSEN)
}

/** Sends the ids in parts, and returns how many events were deleted. */
export async function deleteEvents(ids: readonly string[]): Promise<number> {
  let sum = 0
  for (let start = 0; start < ids.length; start += PER_REQUEST) {
    const part = await sendJson<{ deleted: number }>('POST', 'api/events/delete', {
      ids: ids.slice(start, start + PER_REQUEST),
    })
    sum += part.deleted
  }
  return sum
}

/** The messages of the events, one on each line. */
export async function linesOf(ids: readonly string[]): Promise<string> {
  const lines: string[] = []
  for (let start = 0; start < ids.length; start += READS_AT_ONCE) {
    const part = ids.slice(start, start + READS_AT_ONCE)
    const events = await Promise.all(
      part.map((id) => getJson<EventDetails>(`api/events/${encodeURIComponent(id)}`)),
    )
    lines.push(...events.flatMap(({ message }) => (message === null ? [] : [`${JSON.stringify(message)}\n`])))
  }
  return lines.join('')
}

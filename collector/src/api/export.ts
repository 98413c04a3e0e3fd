import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { SECURITY_HEADERS } from '../http/reply.ts'
import type { EventRecord } from '../record.ts'
import type { EventReader, EventSearch } from '../store/queries.ts'

const PAGE = 500

const COLUMNS = [
  'id',
  'receivedAt',
  'timestamp',
  'source',
  'status',
  'reason',
  'type',
  'name',
  'userId',
  'anonymousId',
  'messageId',
] as const

/** Sends all that matches, page by page, as fast as the client reads. */
export async function replyExport(
  reader: EventReader,
  search: EventSearch & { order: 'oldest' | 'newest' },
  format: 'ndjson' | 'csv',
  response: ServerResponse,
): Promise<void> {
  const isCsv = format === 'csv'
  // The first page before the headers: a search that cannot be answered is still a proper problem.
  let page = await reader.ask('events', { ...search, limit: PAGE, isFull: true })
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
    'content-disposition': `attachment; filename="events.${format}"`,
  })
  if (isCsv) response.write(`${[...COLUMNS, 'message'].join(',')}\r\n`)
  for (;;) {
    const lines = (page.events as EventRecord[]).map((event) =>
      isCsv ? csvLine(event) : `${JSON.stringify(event)}\n`,
    )
    if (!response.write(lines.join('')) && !(await drained(response))) return
    if (page.next === null || response.destroyed) break
    page = await reader.ask('events', { ...search, cursor: page.next, limit: PAGE, isFull: true })
  }
  response.end()
}

/** Whether the client reads on; false = it has gone. */
async function drained(response: ServerResponse): Promise<boolean> {
  if (response.destroyed) return false
  const gone = new AbortController()
  const leave = () => gone.abort()
  response.once('close', leave)
  try {
    await once(response, 'drain', { signal: gone.signal })
    return true
  } catch {
    return false
  } finally {
    response.off('close', leave)
  }
}

function csvLine(event: EventRecord): string {
  const values = COLUMNS.map((column) => event[column] ?? '')
  return `${[...values, JSON.stringify(event.message)].map((value) => csvCell(String(value))).join(',')}\r\n`
}

/** What begins like a formula is marked as text: spreadsheets would run it. */
function csvCell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

import { drained } from '../http/gone.ts'
import { SECURITY_HEADERS } from '../http/reply.ts'
import { type EventRecord, TEXT_NAMES } from '../record.ts'
import { listEvents } from '../store/queries/events.ts'
import { listRequests } from '../store/queries/requests.ts'
import type { RequestSummary } from '../store/query-results.ts'
import { type Asking, DONE } from './asking.ts'
import { readQuery, readRange, readRequestSearch, readSearch } from './query.ts'

const PAGE = 100

interface ExportForm {
  format: 'ndjson' | 'csv'
  /** Whether CSV cells that look like formulas are marked as text. */
  isSafe: boolean
}

interface ExportedPage<T> {
  items: T[]
  /** Cursor of the next page; null = this is the last page. */
  next: string | null
}

/** A table: the names of its columns, and their values for an item. */
interface Table<T> {
  columns: readonly string[]
  values(item: T): Readonly<Record<string, unknown>>
}

const EVENTS: Table<EventRecord> = {
  columns: [
    ...['id', 'receivedAt', 'timestamp', 'source', 'status', 'reason', 'type'],
    ...TEXT_NAMES,
    'message',
  ],
  values: (event) => ({ ...event, message: JSON.stringify(event.message) }),
}

const REQUESTS: Table<RequestSummary> = {
  columns: [
    ...['id', 'at', 'method', 'path', 'status', 'code', 'problem', 'source', 'address', 'userAgent'],
    ...['library', 'contentType', 'contentEncoding', 'bodyBytes', 'inflatedBytes', 'durationMs'],
    ...['retryCount', 'events', 'accepted', 'fault'],
  ],
  values: ({ problem, events: { total: events, accepted }, ...request }) => {
    return { ...request, problem: problem?.message, events, accepted }
  },
}

export function exportEvents(asking: Asking): Promise<typeof DONE> {
  const { context, parameters } = asking
  const { format, order, safe, ...filter } = readQuery('export', parameters)
  const search = { ...readSearch(filter, context.nowMs), order, limit: PAGE, isFull: true }
  const page = (cursor: string | undefined) => {
    const { events, next } = listEvents(context, { ...search, cursor })
    return { items: events as EventRecord[], next }
  }
  return sendPages('events', page, EVENTS, { format, isSafe: safe === '1' }, asking)
}

export function exportRequests(asking: Asking): Promise<typeof DONE> {
  const { context, parameters } = asking
  const { order, q, safe, ...given } = readQuery('exportRequests', parameters)
  const range = readRange(given, context.nowMs)
  const search = { search: readRequestSearch(q), ...range, order, limit: PAGE }
  const page = (cursor: string | undefined) => {
    const { requests, next } = listRequests(context, { ...search, cursor })
    return { items: requests, next }
  }
  return sendPages('requests', page, REQUESTS, { format: 'csv', isSafe: safe === '1' }, asking)
}

/** Sends no faster than the client reads. */
async function sendPages<T>(
  name: string,
  page: (cursor: string | undefined) => ExportedPage<T>,
  { columns, values }: Table<T>,
  { format, isSafe }: ExportForm,
  { response, clock }: Asking,
): Promise<typeof DONE> {
  const isCsv = format === 'csv'
  const lineOf = (item: T) => {
    if (!isCsv) return `${JSON.stringify(item)}\n`
    const row = values(item)
    return csvLine(
      columns.map((column) => row[column]),
      isSafe,
    )
  }
  // Reads the first page before it sends headers, so that a failed search can still get an error response.
  let { items, next } = page(undefined)
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.${format}"`,
  })
  if (isCsv) response.write(csvLine(columns, isSafe))
  for (;;) {
    if (!response.write(items.map(lineOf).join('')) && !(await drained(response, clock.setTimer))) return DONE
    if (next === null || response.destroyed) break
    ;({ items, next } = page(next))
  }
  response.end()
  return DONE
}

function csvLine(values: readonly unknown[], isSafe: boolean): string {
  return `${values.map((value) => csvCell(String(value ?? ''), isSafe)).join(',')}\r\n`
}

/** @param isSafe Whether a cell is marked as text if it looks like a formula, which a spreadsheet would run. */
function csvCell(value: string, isSafe: boolean): string {
  const safe = isSafe && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

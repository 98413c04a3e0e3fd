import { drained, goneSignal } from '../http/gone.ts'
import { SECURITY_HEADERS } from '../http/reply.ts'
import { type EventRecord, TEXT_NAMES } from '../record.ts'
import { listEvents } from '../store/queries/events.ts'
import { listRequests } from '../store/queries/requests.ts'
import { type Asking, DONE } from './asking.ts'
import { readQuery, readRange, readRequestSearch, readSearch } from './query.ts'

const PAGE = 100

const EVENT_COLUMNS = [
  ...['id', 'receivedAt', 'timestamp', 'source', 'status', 'reason', 'type'],
  ...TEXT_NAMES,
  'message',
]
const REQUEST_COLUMNS = [
  ...['id', 'at', 'method', 'path', 'status', 'code', 'problem', 'source', 'address', 'userAgent'],
  ...['library', 'contentType', 'contentEncoding', 'bodyBytes', 'inflatedBytes', 'durationMs'],
  ...['retryCount', 'events', 'accepted', 'fault'],
]

/** Returns the lines of a page, and the cursor of the next one; null = this is the last page. */
type ReadPage = (cursor: string | undefined) => { lines: string[]; next: string | null }

export function exportEvents(asking: Asking): Promise<typeof DONE> {
  const { context, parameters } = asking
  const { format, order, ...filter } = readQuery('export', parameters)
  const search = { ...readSearch(filter, context.nowMs), order, limit: PAGE, isFull: true }
  const lineOf = (event: object) =>
    format === 'csv'
      ? csvLine(EVENT_COLUMNS, { ...event, message: JSON.stringify((event as EventRecord).message) })
      : `${JSON.stringify(event)}\n`
  const page: ReadPage = (cursor) => {
    const { events, next } = listEvents(context, { ...search, cursor })
    return { lines: events.map(lineOf), next }
  }
  const isCsv = format === 'csv'
  return sendPages(page, isCsv ? headLine(EVENT_COLUMNS) : '', `events.${format}`, asking)
}

export function exportRequests(asking: Asking): Promise<typeof DONE> {
  const { context, parameters } = asking
  const { order, q, ...given } = readQuery('exportRequests', parameters)
  const range = readRange(given, context.nowMs)
  const search = { search: readRequestSearch(q), ...range, order, limit: PAGE }
  const page: ReadPage = (cursor) => {
    const { requests, next } = listRequests(context, { ...search, cursor })
    const lines = requests.map(({ problem, events: { total: events, accepted }, ...request }) =>
      csvLine(REQUEST_COLUMNS, { ...request, problem: problem?.message, events, accepted }),
    )
    return { lines, next }
  }
  return sendPages(page, headLine(REQUEST_COLUMNS), 'requests.csv', asking)
}

/** Sends no faster than the client reads. */
async function sendPages(
  page: ReadPage,
  head: string,
  filename: string,
  { response, clock }: Asking,
): Promise<typeof DONE> {
  // Reads the first page before it sends headers, so that a failed search can still get an error response.
  let { lines, next } = page(undefined)
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': `${head === '' ? 'application/x-ndjson' : 'text/csv'}; charset=utf-8`,
    'content-disposition': `attachment; filename="${filename}"`,
  })
  const gone = goneSignal(response)
  response.write(head)
  for (;;) {
    if (!response.write(lines.join('')) && !(await drained(response, gone, clock.setTimer))) return DONE
    if (next === null || response.destroyed) break
    ;({ lines, next } = page(next))
  }
  response.end()
  return DONE
}

function headLine(columns: readonly string[]): string {
  return `${columns.join(',')}\r\n`
}

function csvLine(columns: readonly string[], row: Readonly<Record<string, unknown>>): string {
  return `${columns.map((column) => csvCell(String(row[column] ?? ''))).join(',')}\r\n`
}

/** A cell is marked as text if it looks like a formula, which a spreadsheet would run. */
function csvCell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

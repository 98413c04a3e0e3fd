import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { drained } from '../http/gone.ts'
import { SECURITY_HEADERS } from '../http/reply.ts'
import { stringifyExact } from '../json/exact-json.ts'
import { type EventRecord, TEXT_NAMES } from '../record.ts'
import type { EventReader, EventSearch, QueryParameters } from '../store/event-reader.ts'
import type { ChangeFeed, Cursor } from '../store/ports.ts'
import type { RequestSummary } from '../store/query-results.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'

/** Number of records that one export keeps in memory. A record may have 32 KB. */
const PAGE = 100
/** Limited, because one page of an export stays in memory while its client does not read. */
const MAX_EXPORTS = 10
const exports = new ConcurrencyLimit({
  limit: MAX_EXPORTS,
  code: 'too_many_exports',
  message: `${MAX_EXPORTS} exports are running already`,
  retrySeconds: 10,
})

export interface ExportForm {
  format: 'ndjson' | 'csv'
  /** Whether CSV cells that look like formulas are marked as text. */
  isSafe: boolean
}

export interface ExportParts {
  reader: EventReader
  /** Only used as the key under which the exports of this collector are counted. */
  changes: ChangeFeed
  setTimer: Clock['setTimer']
}

interface ExportedList<T> {
  /** Name of the file without its extension. */
  name: string
  /** The first page has no cursor. */
  page(cursor: Cursor | undefined): Promise<{ items: T[]; next: Cursor | null }>
  /** The cells of a CSV row by their headings. Null becomes an empty cell. */
  cells: Readonly<Record<string, (item: T) => unknown>>
}

export function exportEvents(
  { reader, changes, setTimer }: ExportParts,
  search: EventSearch & { order: 'oldest' | 'newest' },
  given: ExportForm,
  response: ServerResponse,
): Promise<void> {
  const plain = (name: keyof EventRecord) => ({ [name]: (event: EventRecord) => event[name] })
  const list: ExportedList<EventRecord> = {
    name: 'events',
    page: async (cursor) => {
      const page = await reader.ask('events', { ...search, cursor, limit: PAGE, isFull: true, isExact: true })
      return { items: page.events as EventRecord[], next: page.next }
    },
    cells: {
      ...plain('id'),
      ...plain('receivedAt'),
      ...plain('timestamp'),
      ...plain('source'),
      ...plain('status'),
      ...plain('reason'),
      ...plain('type'),
      ...Object.assign({}, ...TEXT_NAMES.map(plain)),
      message: ({ message }) => stringifyExact(message),
    },
  }
  return exports.run(changes, () => sendPages(list, given, response, setTimer))
}

export function exportRequests(
  { reader, changes, setTimer }: ExportParts,
  search: Omit<QueryParameters<'requests'>, 'limit' | 'cursor'>,
  given: ExportForm,
  response: ServerResponse,
): Promise<void> {
  const plain = (name: keyof RequestSummary) => ({ [name]: (request: RequestSummary) => request[name] })
  const list: ExportedList<RequestSummary> = {
    name: 'requests',
    page: async (cursor) => {
      const page = await reader.ask('requests', { ...search, cursor, limit: PAGE })
      return { items: page.requests, next: page.next }
    },
    cells: {
      ...plain('id'),
      ...plain('at'),
      ...plain('method'),
      ...plain('path'),
      ...plain('status'),
      ...plain('code'),
      problem: ({ problem }) => problem?.message,
      ...plain('source'),
      ...plain('address'),
      ...plain('userAgent'),
      ...plain('library'),
      ...plain('contentType'),
      ...plain('contentEncoding'),
      ...plain('bodyBytes'),
      ...plain('inflatedBytes'),
      ...plain('durationMs'),
      ...plain('retryCount'),
      events: ({ events }) => events.total,
      accepted: ({ events }) => events.accepted,
      ...plain('fault'),
    },
  }
  return exports.run(changes, () => sendPages(list, given, response, setTimer))
}

/** Sends no faster than the client reads. */
async function sendPages<T>(
  { name, page, cells }: ExportedList<T>,
  { format, isSafe }: ExportForm,
  response: ServerResponse,
  setTimer: Clock['setTimer'],
): Promise<void> {
  const isCsv = format === 'csv'
  const lineOf = isCsv
    ? (item: T) =>
        csvLine(
          Object.values(cells).map((cell) => cell(item)),
          isSafe,
        )
    : (item: T) => `${stringifyExact(item)}\n`
  // Reads the first page before it sends headers, so that a failed search can still get an error response.
  let { items, next } = await page(undefined)
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.${format}"`,
  })
  if (isCsv) response.write(csvLine(Object.keys(cells), isSafe))
  for (;;) {
    if (!response.write(items.map(lineOf).join('')) && !(await drained(response, setTimer))) return
    if (next === null || response.destroyed) break
    ;({ items, next } = await page(next))
  }
  response.end()
}

function csvLine(values: readonly unknown[], isSafe: boolean): string {
  return `${values.map((value) => csvCell(String(value ?? ''), isSafe)).join(',')}\r\n`
}

/** @param isSafe Whether a cell is marked as text if it looks like a formula, which a spreadsheet would run. */
function csvCell(value: string, isSafe: boolean): string {
  const safe = isSafe && /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

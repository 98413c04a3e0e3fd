import type { ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { drained } from '../http/gone.ts'
import { SECURITY_HEADERS } from '../http/reply.ts'
import { type EventRecord, TEXT_NAMES } from '../record.ts'
import type { RequestSummary } from '../store/query-results.ts'
import { Limited } from './limited.ts'

/** Limited, because one page of an export stays in memory while its client does not read. */
const MAX_EXPORTS = 10
const exports = new Limited(MAX_EXPORTS, 'too_many_exports', `${MAX_EXPORTS} exports are running already`)

export interface ExportForm {
  format: 'ndjson' | 'csv'
  /** Whether CSV cells that look like formulas are marked as text. */
  isSafe: boolean
}

interface ExportedPage<T> {
  items: T[]
  /** Cursor of the next page; null = this is the last page. */
  next: string | null
}

type Cells<T> = Readonly<Record<string, (item: T) => unknown>>

const ofEvent = (name: keyof EventRecord) => ({ [name]: (event: EventRecord) => event[name] })

const EVENT_CELLS: Cells<EventRecord> = {
  ...Object.assign(
    {},
    ...(['id', 'receivedAt', 'timestamp', 'source', 'status', 'reason', 'type'] as const).map(ofEvent),
  ),
  ...Object.assign({}, ...TEXT_NAMES.map(ofEvent)),
  message: ({ message }) => JSON.stringify(message),
}

const ofRequest = (name: keyof RequestSummary) => ({ [name]: (request: RequestSummary) => request[name] })

const REQUEST_CELLS: Cells<RequestSummary> = {
  ...Object.assign({}, ...(['id', 'at', 'method', 'path', 'status', 'code'] as const).map(ofRequest)),
  problem: ({ problem }) => problem?.message,
  ...Object.assign(
    {},
    ...(
      [
        ...['source', 'address', 'userAgent', 'library', 'contentType', 'contentEncoding'],
        ...['bodyBytes', 'inflatedBytes', 'durationMs', 'retryCount'],
      ] as Array<keyof RequestSummary>
    ).map(ofRequest),
  ),
  events: ({ events }) => events.total,
  accepted: ({ events }) => events.accepted,
  ...ofRequest('fault'),
}

export interface ExportTarget {
  response: ServerResponse
  setTimer: Clock['setTimer']
}

/** @param page Reads one page; the first has no cursor. */
export function exportEvents(
  page: (cursor: string | undefined) => ExportedPage<EventRecord>,
  form: ExportForm,
  target: ExportTarget,
): Promise<void> {
  return exports.run(() => sendPages('events', page, EVENT_CELLS, form, target))
}

export function exportRequests(
  page: (cursor: string | undefined) => ExportedPage<RequestSummary>,
  isSafe: boolean,
  target: ExportTarget,
): Promise<void> {
  return exports.run(() => sendPages('requests', page, REQUEST_CELLS, { format: 'csv', isSafe }, target))
}

/** Sends no faster than the client reads. */
async function sendPages<T>(
  name: string,
  page: (cursor: string | undefined) => ExportedPage<T>,
  cells: Cells<T>,
  { format, isSafe }: ExportForm,
  { response, setTimer }: ExportTarget,
): Promise<void> {
  const isCsv = format === 'csv'
  const lineOf = (item: T) =>
    isCsv
      ? csvLine(
          Object.values(cells).map((cell) => cell(item)),
          isSafe,
        )
      : `${JSON.stringify(item)}\n`
  // Reads the first page before it sends headers, so that a failed search can still get an error response.
  let { items, next } = page(undefined)
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': isCsv ? 'text/csv; charset=utf-8' : 'application/x-ndjson; charset=utf-8',
    'content-disposition': `attachment; filename="${name}.${format}"`,
  })
  if (isCsv) response.write(csvLine(Object.keys(cells), isSafe))
  for (;;) {
    if (!response.write(items.map(lineOf).join('')) && !(await drained(response, setTimer))) return
    if (next === null || response.destroyed) break
    ;({ items, next } = page(next))
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

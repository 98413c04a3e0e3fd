import { UsageError } from '../errors.ts'
import { quoted } from '../output/text.ts'
import { findDelimiter, parseRows } from './csv.ts'
import { type CsvDialect, CsvRowSplitter } from './csv-rows.ts'
import type { Head } from './head.ts'
import { NOTE_COLUMNS } from './message.ts'
import type { Position, SourceRecord } from './record.ts'
import { readSepLine } from './sniff.ts'
import { decode } from './utf8.ts'

export interface CsvOptions {
  readonly delimiter?: string | undefined
  /** Column names of a file without a header. */
  readonly columns?: readonly string[] | undefined
  readonly skipLines?: number | undefined
}

export interface CsvLayout {
  readonly dialect: CsvDialect
  readonly header: readonly string[]
  /** Where the first row of data begins. */
  readonly start: Position
}

/** Finds the columns and the delimiter. @throws UsageError when the first row is no header. */
export async function readCsvHeader(
  head: Head,
  textStart: Position,
  newline: number,
  options: CsvOptions,
): Promise<CsvLayout> {
  // A rejects file has a header of its own in its first line, so it is imported with the options of the first file.
  const isRejects = head.bytes.subarray(textStart.offset).toString('latin1', 0, 40).includes(NOTE_COLUMNS[0])
  const { columns, skipLines = 0 } = isRejects ? {} : options
  let start = await head.skipLines(textStart, skipLines, newline)
  let { delimiter } = options
  const read = (): Promise<SourceRecord | undefined> => {
    // Without a known delimiter, the comma is a guess: a row that is broken with it is read again.
    const dialect = { delimiter: delimiter ?? ',', isSpaced: false }
    return head.firstRecord(new CsvRowSplitter(start, dialect, newline), start)
  }
  let row = await read()
  const sep = row === undefined ? undefined : readSepLine(decode(row.bytes) ?? '')
  if (sep !== undefined) {
    delimiter ??= sep
    start = { offset: row?.end ?? 0, line: row?.nextLine ?? 1 }
    row = await read()
  }
  if (row === undefined)
    return { dialect: { delimiter: delimiter ?? ',', isSpaced: false }, header: columns ?? [], start }
  const text = decode(row.bytes) ?? ''
  delimiter ??= findDelimiter(text)
  if (row.problem !== undefined) row = (await read()) ?? row
  const dialect = { delimiter, isSpaced: isSpaced(text, delimiter) }
  if (columns !== undefined) return { dialect, header: columns, start }
  const [{ value: header, problem } = {}] = parseRows([row], dialect)
  if (header === undefined)
    throw new UsageError(`line ${row.line}: the header cannot be read: ${problem?.message}`)
  if (header.some((name) => name.includes('\r')))
    throw new UsageError(
      `line ${row.line}: some lines end in CR alone, and others in LF: convert them first (tr '\\r' '\\n')`,
    )
  requireHeader(row, header, head.bytes, newline, options)
  return { dialect, header, start: { offset: row.end, line: row.nextLine } }
}

function isSpaced(row: string, delimiter: string): boolean {
  const [, ...fields] = row.replace(/"[^"]*"/g, '"').split(delimiter)
  return delimiter !== ' ' && fields.length > 0 && fields.every((field) => field.startsWith(' '))
}

/** How many rows below the first are looked at. */
const LOOK_AHEAD = 20

/** Refuses a title or a comment above the header: with it as the header, every line would be refused or have wrong names. */
function requireHeader(
  row: SourceRecord,
  header: readonly string[],
  bytes: Buffer,
  newline: number,
  { delimiter }: CsvOptions,
): void {
  const filled = (cells: readonly string[]): number => cells.filter((cell) => cell.trim() !== '').length
  if (header.length > 1 && filled(header) > header.length / 2) return
  const rest = bytes.subarray(row.end, row.end + 65_536)
  const below: { line: number; count: number }[] = []
  const lines = rest.toString('utf8').split(String.fromCharCode(newline)).slice(0, LOOK_AHEAD)
  for (const [index, line] of lines.entries()) {
    const cells = line.trim() === '' ? [] : line.split(delimiter ?? findDelimiter(line))
    below.push({ line: row.nextLine + index, count: filled(cells) })
  }
  const most = Math.max(...below.map(({ count }) => count))
  const rows = below.filter(({ count }) => count > 0)
  const isTable = rows.slice(-2).every(({ count }) => count > filled(header))
  const first = below.find(({ count }) => count === most)
  if (first === undefined || !isTable || most <= filled(header)) return
  throw new UsageError(
    `line ${row.line}: ${quoted(header.find((cell) => cell.trim() !== '') ?? '')} is not the header of the lines below it; if the header is line ${first.line}: --skip-lines ${first.line - 1}`,
  )
}

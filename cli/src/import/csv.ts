import { parse } from 'csv-parse/sync'
import type { CsvDialect } from './csv-rows.ts'
import type { ParsedRecord, SourceRecord } from './record.ts'
import { decode, NOT_UTF8 } from './utf8.ts'

/** Parses all rows together, or one by one if a row is broken. */
export function parseRows(records: readonly SourceRecord[], dialect: CsvDialect): ParsedRecord<string[]>[] {
  const rows = parseTogether(
    records.filter(({ problem }) => problem === undefined),
    dialect,
  )
  let next = 0
  return records.map((record) => {
    const { problem } = record
    if (problem !== undefined) return { record, problem }
    return rows === undefined ? parseAlone(record, dialect) : { record, value: rows[next++] as string[] }
  })
}

function parseTogether(records: readonly SourceRecord[], dialect: CsvDialect): string[][] | undefined {
  const texts = records.map(({ bytes }) => decode(bytes))
  if (texts.includes(undefined)) return undefined
  try {
    const rows = parseText(texts.join('\n'), dialect)
    return rows.length === records.length ? rows : undefined
  } catch {
    return undefined
  }
}

function parseAlone(record: SourceRecord, dialect: CsvDialect): ParsedRecord<string[]> {
  const text = decode(record.bytes)
  if (text === undefined) return { record, problem: NOT_UTF8 }
  try {
    const [value, ...others] = parseText(text, dialect)
    if (value !== undefined && others.length === 0) return { record, value }
    return { record, problem: { reason: 'invalid_csv', message: 'this is not one CSV row' } }
  } catch (error) {
    // The splitter has found all other broken quotes.
    const { code, column } = error as { code?: string; column?: unknown }
    const isQuote = code === 'INVALID_OPENING_QUOTE'
    const message = isQuote ? 'a quote inside a field that is not quoted' : 'this is not a CSV row'
    const place = typeof column === 'number' ? { column: column + 1 } : {}
    return { record, problem: { reason: 'invalid_csv', message, ...place } }
  }
}

function parseText(text: string, { delimiter, isSpaced }: CsvDialect): string[][] {
  return parse(text, {
    delimiter,
    ltrim: isSpaced,
    // Without this, csv-parse would guess the line ending from the first line of each block.
    record_delimiter: ['\n', '\r\n'],
    relax_column_count: true,
    skip_empty_lines: true,
  }) as unknown as string[][]
}

export function formatRow(fields: readonly string[], delimiter: string): string {
  const isSpecial = (field: string): boolean => /["\r\n]/.test(field) || field.includes(delimiter)
  return fields
    .map((field) => (isSpecial(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(delimiter)
}

export function findDelimiter(header: string): string {
  const unquoted = header.replace(/"[^"]*"/g, '')
  const counts = [',', ';', '\t', '|'].map(
    (delimiter) => [unquoted.split(delimiter).length, delimiter] as const,
  )
  return counts.reduce((best, one) => (one[0] > best[0] ? one : best))[1]
}

import { UsageError } from '../errors.ts'
import { findDelimiter, type ParsedRecord, parseRows } from './csv.ts'
import { CsvRowSplitter } from './csv-rows.ts'
import { parseObject } from './json.ts'
import { JsonArraySplitter } from './json-array.ts'
import { LineSplitter } from './lines.ts'
import { NEWLINE, type Position, type SourceRecord, type Splitter } from './record.ts'
import { BYTE_ORDER_MARK, type Format, findFormat, requireText } from './sniff.ts'
import type { Source } from './source.ts'
import { decode } from './utf8.ts'

export interface InputOptions {
  readonly format?: Format | undefined
  readonly delimiter?: string | undefined
  /** Column names of a CSV file without a header. */
  readonly columns?: readonly string[] | undefined
  readonly maxRecordBytes: number
}

export interface Input {
  readonly format: Format
  readonly delimiter: string
  /** The columns of a CSV file; empty for other formats and for an empty file. */
  readonly header: readonly string[]
  readonly start: Position
  /** The position up to which records have been yielded. */
  position(): Position
  /** @throws CommandError when reading fails. The records before the failure have been yielded. */
  records(): AsyncGenerator<ParsedRecord<never>[]>
}

/**
 * @param resumeAt The position that an earlier import has reached.
 * @throws UsageError when the source is not text, or when its header cannot be read.
 */
export async function openInput(source: Source, options: InputOptions, resumeAt?: Position): Promise<Input> {
  const chunks = source.chunks()[Symbol.asyncIterator]()
  const first = await chunks.next()
  const head = first.done === true ? Buffer.alloc(0) : first.value
  requireText(head)
  const textStart = head.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0
  const format = options.format ?? findFormat(source.path, head.subarray(textStart))
  const read: Buffer[] = [head]
  let start: Position = { offset: textStart, line: 1 }
  let header: readonly string[] = []
  let delimiter = options.delimiter ?? ','
  if (format === 'csv') {
    let row = await readFirstRow(chunks, read, start, options)
    if (row !== undefined) {
      delimiter = options.delimiter ?? findDelimiter(decode(row.bytes) ?? '')
      // With quoted fields, the delimiter decides where the row ends.
      if (row.problem !== undefined)
        row = (await readFirstRow(chunks, read, start, { ...options, delimiter })) ?? row
      header = options.columns ?? readHeader(row, delimiter)
      if (options.columns === undefined) start = { offset: row.end, line: row.nextLine }
    }
  }
  if (resumeAt !== undefined && resumeAt.offset > start.offset) start = resumeAt
  const { maxRecordBytes } = options
  const splitter = createSplitter(format, start, delimiter, maxRecordBytes, textStart)
  const parse = (records: SourceRecord[]): ParsedRecord[] =>
    format === 'csv' ? parseRows(records, delimiter) : records.map((record) => parseObject(record))
  const rest = skipTo(start.offset, read, chunks, format !== 'json' && resumeAt === start)
  let position = start
  return {
    format,
    delimiter,
    header,
    start,
    position: () => position,
    async *records() {
      const give = (records: SourceRecord[]): ParsedRecord<never>[] => {
        const last = records.at(-1)
        if (last !== undefined) position = { offset: last.end, line: last.nextLine }
        return parse(records) as ParsedRecord<never>[]
      }
      let offset = start.offset
      for await (const chunk of rest) {
        offset += chunk.length
        const records = splitter.push(chunk)
        if (records.length > 0) yield give(records)
        if (splitter.failure !== undefined) throw splitter.failure
      }
      const records = splitter.finish()
      if (records.length > 0) yield give(records)
      // The next import of a JSON array has to continue before the closing bracket.
      if (format !== 'json') position = { offset, line: splitter.line }
    },
  }
}

function createSplitter(
  format: Format,
  start: Position,
  delimiter: string,
  limit: number,
  textStart: number,
): Splitter {
  if (format === 'ndjson') return new LineSplitter(start, limit)
  if (format === 'json') return new JsonArraySplitter(start, limit, start.offset > textStart)
  return new CsvRowSplitter(start, delimiter, limit)
}

/** Adds the chunks that it reads to `read`. */
async function readFirstRow(
  chunks: AsyncIterator<Buffer>,
  read: Buffer[],
  start: Position,
  { delimiter = ',', maxRecordBytes }: InputOptions,
): Promise<SourceRecord | undefined> {
  // Without a known delimiter, the comma is a guess: `openInput` reads a broken row again with the right delimiter.
  const splitter = new CsvRowSplitter(start, delimiter, maxRecordBytes)
  let records = splitter.push(Buffer.concat(read).subarray(start.offset))
  while (records.length === 0) {
    const { value, done } = await chunks.next()
    if (done === true) records = splitter.finish()
    else {
      read.push(value)
      records = splitter.push(value)
    }
    if (done === true) break
  }
  return records[0]
}

function readHeader(row: SourceRecord, delimiter: string): readonly string[] {
  const [{ value, problem } = {}] = parseRows([row], delimiter)
  if (value !== undefined) return value
  throw new UsageError(`line ${row.line}: the header cannot be read: ${problem?.message}`)
}

/** Yields the bytes after `offset`, first of the chunks in `read`, then of `chunks`. */
async function* skipTo(
  offset: number,
  read: readonly Buffer[],
  chunks: AsyncIterator<Buffer>,
  isAfterLine: boolean,
): AsyncGenerator<Buffer> {
  let at = 0
  let before: number | undefined
  const cut = (chunk: Buffer): Buffer => {
    const skipped = Math.min(Math.max(0, offset - at), chunk.length)
    if (skipped > 0) before = chunk[skipped - 1]
    at += chunk.length
    const rest = chunk.subarray(skipped)
    if (isAfterLine && rest.length > 0 && before !== NEWLINE) {
      throw new UsageError('the file has changed: the last line of the earlier import is longer now')
    }
    return rest
  }
  for (const chunk of read) {
    const rest = cut(chunk)
    if (rest.length > 0) yield rest
  }
  for (;;) {
    const { value, done } = await chunks.next()
    if (done === true) break
    const rest = cut(value)
    if (rest.length > 0) yield rest
  }
  if (at < offset) throw new UsageError('the file has changed: it is shorter than the part that was imported')
}

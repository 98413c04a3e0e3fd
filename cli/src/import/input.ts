import { UsageError } from '../errors.ts'
import { parseRows } from './csv.ts'
import { type CsvOptions, readCsvHeader } from './csv-header.ts'
import { type CsvDialect, CsvRowSplitter } from './csv-rows.ts'
import { Head } from './head.ts'
import { parseObject } from './json.ts'
import { JsonArraySplitter } from './json-array.ts'
import { LineSplitter } from './lines.ts'
import {
  BYTE_ORDER_MARK,
  type ParsedRecord,
  type Position,
  type SourceRecord,
  type Splitter,
} from './record.ts'
import {
  type Format,
  findFormat,
  findNewline,
  firstObject,
  isMore,
  isSequence,
  listInside,
  requireText,
} from './sniff.ts'
import type { Source } from './source.ts'

export interface InputOptions extends CsvOptions {
  readonly format?: Format | undefined
}

export interface Input {
  readonly format: Format
  readonly dialect: CsvDialect
  /** The columns of a CSV file; empty for other formats. */
  readonly header: readonly string[]
  readonly start: Position
  /** The position up to which records have been yielded. */
  position(): Position
  /** @throws CommandError when reading fails. The records before the failure have been yielded. */
  records(): AsyncGenerator<ParsedRecord<never>[]>
}

/**
 * @param resumeAt The position that an earlier import has reached.
 * @throws UsageError when the source is empty or is not text, or when its header cannot be read.
 */
export async function openInput(source: Source, options: InputOptions, resumeAt?: Position): Promise<Input> {
  const head = new Head(source.chunks())
  await head.readLine()
  requireText(head.bytes)
  const textStart = { offset: head.bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0, line: 1 }
  const hasText = (): boolean => /\S/.test(head.bytes.toString('latin1', textStart.offset))
  await head.readUntil(hasText)
  if (!hasText()) throw new UsageError('line 1: the file is empty')
  const format = options.format ?? findFormat(source.path, head.bytes.subarray(textStart.offset))
  const newline = findNewline(head.bytes)
  if (format !== 'csv' && options.skipLines !== undefined)
    throw new UsageError(`line 1: --skip-lines is for CSV, and this is ${format.toUpperCase()}`)
  const layout =
    format === 'csv' ? await readCsvHeader(head, textStart, newline, options) : { dialect: COMMA, header: [] }
  const first = 'start' in layout ? layout.start : textStart
  const isResumed = resumeAt !== undefined && resumeAt.offset > first.offset
  const start = isResumed ? resumeAt : first
  const { dialect, header } = layout
  const text = (): Buffer => head.bytes.subarray(first.offset)
  if (format === 'ndjson') await head.readUntil(() => firstObject(text()) !== undefined)
  const list = format === 'ndjson' ? listInside(text()) : undefined
  if (list !== undefined) {
    await head.readUntil(() => isMore(text()))
    const remedy = `jq -c '.${list}[]' FILE | trackpost import -`
    if (!isMore(text()))
      throw new UsageError(
        `line 1: the events are in the list "${list}" of one object; take them out: ${remedy}`,
      )
  }
  const isJoined = format === 'ndjson' && isSequence(text())
  let splitter: Splitter
  if (format === 'csv') splitter = new CsvRowSplitter(start, dialect, newline)
  else if (format === 'ndjson' && !isJoined) splitter = new LineSplitter(start, newline)
  else splitter = new JsonArraySplitter(start, { isInside: isResumed, isSequence: isJoined })
  // Elements that are not lines end where the next import continues, so nothing can be added to the last one.
  const isByLine = format === 'csv' || (format === 'ndjson' && !isJoined)
  const parse = (records: SourceRecord[]): ParsedRecord[] =>
    format === 'csv' ? parseRows(records, dialect) : records.map((record) => parseObject(record))
  let position = start
  return {
    format,
    dialect,
    header,
    start,
    position: () => position,
    async *records() {
      const give = (records: SourceRecord[]): ParsedRecord<never>[] => {
        const last = records.at(-1)
        if (last !== undefined) position = { offset: last.end, line: last.nextLine }
        return parse(records) as ParsedRecord<never>[]
      }
      // One byte before the start shows whether the last line is longer now.
      const before = isResumed && isByLine ? 1 : 0
      let offset = start.offset - before
      for await (const chunk of head.from(offset)) {
        if (before === 1 && offset === start.offset - 1 && chunk[0] !== newline)
          throw new UsageError('the file has changed: the last line of the earlier import is longer now')
        const rest = offset < start.offset ? chunk.subarray(1) : chunk
        offset += chunk.length
        const records = splitter.push(rest)
        if (records.length > 0) yield give(records)
        if (splitter.failure !== undefined) throw splitter.failure
      }
      const records = splitter.finish()
      if (records.length > 0) yield give(records)
      // The next import of a JSON array has to continue before the closing bracket.
      if (isByLine) position = { offset, line: splitter.line }
    },
  }
}

const COMMA: CsvDialect = { delimiter: ',', isSpaced: false }

import { createHash, type Hash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { CommandError, fileProblem } from '../errors.ts'
import { printable } from '../output/text.ts'
import { formatRow, parseRows } from './csv.ts'
import type { CsvDialect } from './csv-rows.ts'
import { parseObject } from './json.ts'
import { NOTE_COLUMNS, NOTE_FIELD } from './message.ts'
import { BYTE_ORDER_MARK, NEWLINE, type Problem, type SourceRecord } from './record.ts'
import type { Format } from './sniff.ts'
import type { PendingLine } from './window.ts'

/** The state of the rejects file, by which a later import recognises the file. */
export interface RejectsMark {
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

export interface RejectsStyle {
  readonly format: Format
  readonly dialect: CsvDialect
  /** The header of a CSV file; empty for other formats. */
  readonly header: readonly string[]
  /** Whether the file begins with the mark of UTF-8, because the option for the encoding of the input will be given again. */
  readonly isMarked?: boolean
}

/** Never returns an existing file, since the user may be correcting its lines. */
export function rejectsPath(input: string, format: Format): string {
  const stem =
    input === '-' ? 'stdin' : input.replace(/\.gz$/i, '').replace(/\.(?:csv|tsv|json|ndjson|jsonl)$/i, '')
  const ending = format === 'csv' ? (/\.tsv(?:\.gz)?$/i.test(input) ? 'tsv' : 'csv') : 'ndjson'
  for (let number = 1; ; number++) {
    const path = `${stem}.rejects${number === 1 ? '' : `-${number}`}.${ending}`
    if (!existsSync(path)) return path
  }
}

/** Keeps refused lines in memory until {@link Rejects.flush}. */
export class Rejects {
  readonly #path: string
  readonly #style: RejectsStyle
  #file: FileHandle | undefined
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #bytes = 0
  #hash: Hash = createHash('sha256')

  /** @param mark The rejects file of the earlier import that this one continues. */
  constructor(path: string, style: RejectsStyle, mark: RejectsMark | undefined) {
    this.#path = path
    this.#style = style
    if (mark !== undefined) this.#goOn(mark)
  }

  get waitingBytes(): number {
    return this.#waitingBytes
  }

  /** `undefined` until a line is refused. */
  get mark(): RejectsMark | undefined {
    if (this.#bytes === 0 && this.#waiting.length === 0) return undefined
    return { path: this.#path, bytes: this.#bytes, sha256: this.#hash.copy().digest('hex') }
  }

  /** Whether the next {@link Rejects.flush} creates the file. */
  get isBeginning(): boolean {
    return this.#bytes === 0 && this.#waiting.length > 0
  }

  add(line: PendingLine): void {
    const text = toText(line, this.#style)
    if (text === undefined) return
    this.#waiting.push(text)
    this.#waitingBytes += text.length
  }

  /** @throws CommandError when the file cannot be written. */
  async flush(): Promise<void> {
    if (this.#waiting.length === 0) return
    const lines = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    const { format, header, dialect } = this.#style
    const isNew = this.#bytes === 0
    if (isNew && format === 'csv') {
      const names = [...NOTE_COLUMNS, ...header.slice(countNotes(header))]
      lines.unshift(Buffer.from(`${formatRow(names, dialect.delimiter)}\n`))
    }
    if (isNew && this.#style.isMarked === true) lines.unshift(BYTE_ORDER_MARK)
    const bytes = Buffer.concat(lines)
    try {
      this.#file ??= await open(this.#path, isNew ? 'wx' : 'a', 0o600)
      await this.#file.writeFile(bytes)
      await this.#file.sync()
    } catch (error) {
      throw new CommandError(
        `the file of refused lines ${printable(this.#path)} cannot be written: ${fileProblem(error)}`,
      )
    }
    this.#bytes += bytes.length
    this.#hash.update(bytes)
  }

  async close(): Promise<void> {
    await this.#file?.close()
  }

  /** Removes the rows after the mark, because their lines are read again. Does not change a file that the user has edited. */
  #goOn({ bytes, sha256 }: RejectsMark): void {
    let content: Buffer
    try {
      content = readFileSync(this.#path)
    } catch {
      return
    }
    const digest = createHash('sha256').update(content.subarray(0, bytes)).digest('hex')
    if (digest === sha256) {
      if (bytes === 0) rmSync(this.#path)
      else if (content.length > bytes) truncateSync(this.#path, bytes)
      this.#hash.update(content.subarray(0, bytes))
      this.#bytes = bytes
    } else {
      this.#hash.update(content)
      this.#bytes = content.length
    }
  }
}

/** How many of the columns are the notes of a rejects file, which is imported now. */
function countNotes(header: readonly string[]): number {
  return NOTE_COLUMNS.every((note, index) => header[index]?.trim() === note) ? NOTE_COLUMNS.length : 0
}

function toText({ record, messageId, problem }: PendingLine, style: RejectsStyle): Buffer | undefined {
  // The record was over the limit, so its bytes were not kept.
  if (record.bytes.length === 0) return undefined
  const { reason, message } = problem as Problem
  const why = `${reason}: ${message}`
  const noted =
    style.format === 'csv' ? notedRow(record, messageId, why, style) : notedObject(record, messageId, why)
  return Buffer.concat([noted, Buffer.from('\n')])
}

/**
 * A row that was refused for its shape is refused again until it is corrected: it gets as many cells more as the header. And each
 * row begins with a quoted word, at which a quote that is still open ends as broken, instead of joining two rows.
 */
function notedRow(
  record: SourceRecord,
  messageId: string | undefined,
  why: string,
  { header, dialect }: RejectsStyle,
): Buffer {
  const { delimiter } = dialect
  const notes = countNotes(header)
  const [{ value } = {}] = parseRows([record], dialect)
  const isMisshapen =
    value === undefined
      ? /^"\w+: /.test(record.bytes.toString('latin1', 0, 40))
      : value.length !== header.length
  // In a rejects file, a row of the wrong shape keeps its note: the user may have removed cells, so none is taken for a note.
  if (notes > 0 && isMisshapen) return record.bytes
  const note = `"${why.replaceAll('"', '""')}"${delimiter}`
  if (value === undefined) return Buffer.concat([Buffer.from(note + delimiter), record.bytes])
  return Buffer.from(note + formatRow([messageId ?? '', ...value.slice(notes)], delimiter))
}

function notedObject(record: SourceRecord, messageId: string | undefined, reason: string): Buffer {
  const { value } = parseObject(record)
  if (value !== undefined)
    return Buffer.from(JSON.stringify({ ...value, [NOTE_FIELD]: { messageId, line: record.line, reason } }))
  // An element of a JSON array may span lines, but the rejects file is NDJSON.
  return record.bytes.includes(NEWLINE)
    ? Buffer.from(record.bytes.toString('utf8').replace(/\r?\n/g, ' '))
    : record.bytes
}

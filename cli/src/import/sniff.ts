import { UsageError } from '../errors.ts'
import { JsonArraySplitter } from './json-array.ts'
import { NEWLINE, RETURN, type SourceRecord } from './record.ts'

export const FORMATS = ['ndjson', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

const SIGNATURES: readonly (readonly [bytes: string, name: string])[] = [
  ['504b0304', 'a zip archive (or an Excel file); unpack it, or export it as CSV'],
  ['28b52ffd', 'compressed with zstd; unpack it first (zstd -dc FILE | trackpost import -)'],
  ['425a68', 'compressed with bzip2; unpack it first (bzip2 -dc FILE | trackpost import -)'],
  ['fd377a585a00', 'compressed with xz; unpack it first (xz -dc FILE | trackpost import -)'],
  ['50415231', 'a Parquet file; export it as NDJSON or CSV'],
  ['53514c69746520666f726d6174', 'an SQLite database; export it as CSV'],
]

/**
 * Refuses known binary formats and files with NUL bytes. Text in other encodings is refused later, with its line.
 *
 * @throws UsageError that says how to convert or unpack the file, if its format is known.
 */
export function requireText(head: Buffer): void {
  for (const [bytes, name] of SIGNATURES) {
    if (head.subarray(0, bytes.length / 2).toString('hex') === bytes)
      throw new UsageError(`line 1: this is ${name}`)
  }
  const zero = head.indexOf(0)
  if (zero === -1) return
  // In UTF-16, every other byte of Latin text is 0.
  const hint = head[zero + 2] === 0 ? `; for UTF-16: --encoding utf-16${zero === 0 ? 'be' : 'le'}` : ''
  throw new UsageError(`line 1: this is not text: it contains NUL bytes${hint}`)
}

/** Returns CR if all lines in the beginning of a file end in it alone, as in files of old spreadsheets for the Mac. */
export function findNewline(head: Buffer): number {
  const at = head.indexOf(RETURN)
  return at !== -1 && at < head.length - 1 && !head.includes(NEWLINE) ? RETURN : NEWLINE
}

/** Returns the delimiter that a first line `sep=;` names, as spreadsheets read and write it. */
export function readSepLine(line: string): string | undefined {
  return /^"?sep=([^"\r\n])"?$/i.exec(line)?.[1]
}

export function findFormat(path: string, head: Buffer): Format {
  if (/\.(?:csv|tsv)(?:\.gz)?$/i.test(path)) return 'csv'
  const first = /\S/.exec(head.subarray(0, 4_096).toString('latin1'))?.[0]
  if (first === '[') return 'json'
  if (first === '{' || /\.(?:ndjson|jsonl|json)(?:\.gz)?$/i.test(path)) return 'ndjson'
  return 'csv'
}

/**
 * Whether a file that is no array has objects without a line end between them, with commas between them, or over several lines.
 *
 * @param head The beginning of the file. If its first object is longer, the file counts as one object per line.
 */
export function isSequence(head: Buffer): boolean {
  const first = firstObject(head)
  if (first === undefined) return false
  if (first.bytes.includes(NEWLINE)) return isJson(first.bytes)
  const after = /^[ \t]*(?:\{|,\s*[\r\n{])/.test(head.toString('latin1', first.end, first.end + 100))
  return after && isJson(first.bytes)
}

const LIST =
  /^\s*\{(?:\s*"[^"]*"\s*:\s*(?:"[^"]*"|[\w.-]+)\s*,)*\s*"(results|data|events|records|rows)"\s*:\s*\[\s*\{/

/** Returns the name of the list, if a file begins with an object around a list of events, as APIs answer. */
export function listInside(head: Buffer): string | undefined {
  return LIST.exec(head.toString())?.[1]
}

/** Whether something follows the first object of a file. */
export function isMore(head: Buffer): boolean {
  const first = firstObject(head)
  return first !== undefined && /\S/.test(head.toString('latin1', first.end))
}

const OPEN_BRACE = 0x7b

/** Returns the first object of a file that is no array; `undefined` if it is not complete. */
export function firstObject(head: Buffer): SourceRecord | undefined {
  const [first] = new JsonArraySplitter({ offset: 0, line: 1 }, { isSequence: true }).push(head)
  return first?.bytes[0] === OPEN_BRACE ? first : undefined
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

import { UsageError } from '../errors.ts'

export const FORMATS = ['ndjson', 'json', 'csv'] as const
export type Format = (typeof FORMATS)[number]

export const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

const SIGNATURES: readonly (readonly [bytes: string, name: string])[] = [
  ['504b0304', 'a zip archive (or an Excel file); unpack it, or export it as CSV'],
  ['28b52ffd', 'compressed with zstd; unpack it first (zstd -dc FILE | trackpost import -)'],
  ['425a68', 'compressed with bzip2; unpack it first (bzip2 -dc FILE | trackpost import -)'],
  ['fd377a585a00', 'compressed with xz; unpack it first (xz -dc FILE | trackpost import -)'],
  ['50415231', 'a Parquet file; export it as NDJSON or CSV'],
  ['53514c69746520666f726d6174', 'an SQLite database; export it as CSV'],
]

/**
 * Refuses UTF-16, known binary formats and files with NUL bytes. Text in other encodings is refused later, with its line.
 *
 * @throws UsageError that says how to convert or unpack the file, if its format is known.
 */
export function requireText(head: Buffer): void {
  const isWide =
    head.length >= 2 && ((head[0] === 0xff && head[1] === 0xfe) || (head[0] === 0xfe && head[1] === 0xff))
  // Also detects UTF-16 without a byte order mark, in which every other byte of Latin text is 0.
  if (isWide || (head.length >= 4 && (isZero(head, 0, 2) || isZero(head, 1, 3)))) {
    throw new UsageError('line 1: this is UTF-16; convert it first (iconv -f UTF-16 -t UTF-8)')
  }
  for (const [bytes, name] of SIGNATURES) {
    if (head.subarray(0, bytes.length / 2).toString('hex') === bytes)
      throw new UsageError(`line 1: this is ${name}`)
  }
  if (head.includes(0)) throw new UsageError('line 1: this is not text: it contains NUL bytes')
}

function isZero(head: Buffer, ...places: number[]): boolean {
  return places.every((place) => head[place] === 0)
}

export function findFormat(path: string, head: Buffer): Format {
  if (/\.(?:csv|tsv)(?:\.gz)?$/i.test(path)) return 'csv'
  const first = /\S/.exec(head.subarray(0, 4_096).toString('latin1'))?.[0]
  if (first === '[') return 'json'
  if (first === '{' || /\.(?:ndjson|jsonl|json)(?:\.gz)?$/i.test(path)) return 'ndjson'
  return 'csv'
}

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename } from 'node:path'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { CommandError, fileProblem, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import { BYTE_ORDER_MARK } from './record.ts'

const CHUNK_BYTES = 65_536
/** A fingerprint is a hash of this many bytes. */
const HEAD_BYTES = 65_536

/** A hash of the beginning of a file, by which a later import recognises the file. */
export interface Fingerprint {
  readonly headBytes: number
  readonly headSha256: string
}

/** The input as a stream of unpacked UTF-8. */
export interface Source {
  /** The path as the user gave it. */
  readonly path: string
  /** The name from which messageIds are derived. */
  readonly name: string
  /** The part of the file that has been read, from 0 to 1; `undefined` for a pipe. */
  share(): number | undefined
  /** `undefined` for a pipe, which cannot be read twice. */
  fingerprint(bytes?: number): Promise<Fingerprint | undefined>
  /** @throws CommandError when the input cannot be read to its end. Earlier chunks have been yielded. */
  chunks(): AsyncIterable<Buffer>
  close(): void
}

/**
 * Opens a file, or stdin for `-`.
 *
 * @param encoding A name of the Encoding standard. Default: UTF-8, or UTF-16 if the file begins with its byte order mark.
 * @throws UsageError when the file cannot be opened.
 */
export async function openSource(path: string, encoding?: string): Promise<Source> {
  if (path === '-') return createSource(path, encoding, process.stdin)
  let file: FileHandle | undefined
  try {
    file = await open(path)
    const stats = await file.stat()
    if (stats.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    const stream = file.createReadStream({ highWaterMark: CHUNK_BYTES })
    const share = (): number => Math.min(1, stream.bytesRead / stats.size)
    return createSource(path, encoding, stream, stats.isFile() ? share : undefined)
  } catch (error) {
    await file?.close()
    throw new UsageError(`${printable(path)}: ${fileProblem(error)}`)
  }
}

function createSource(
  path: string,
  encoding: string | undefined,
  stream: Readable,
  share?: () => number,
): Source {
  return {
    path,
    name: path === '-' ? 'stdin' : basename(path),
    share: () => share?.(),
    fingerprint: async (bytes) => (share === undefined ? undefined : readFingerprint(path, bytes)),
    chunks: () => inUtf8(unpacked(path, stream), encoding),
    close: () => void stream.destroy(),
  }
}

async function readFingerprint(path: string, bytes = HEAD_BYTES): Promise<Fingerprint> {
  const hash = createHash('sha256')
  let headBytes = 0
  for await (const chunk of createReadStream(path, { end: bytes - 1 })) {
    hash.update(chunk)
    headBytes += chunk.length
  }
  return { headBytes, headSha256: hash.digest('hex') }
}

async function* unpacked(path: string, stream: Readable): AsyncGenerator<Buffer> {
  const chunks = readable(path, stream)
  const [head, isEnded] = await readHead(chunks)
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    if (head.length > 0) yield head
    if (!isEnded) yield* chunks
    return
  }
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES })
  const packed = async function* (): AsyncGenerator<Buffer> {
    yield head
    if (!isEnded) yield* chunks
  }
  // An error destroys `gunzip` with it.
  pipeline(packed(), gunzip, () => {})
  try {
    for await (const chunk of gunzip) yield chunk as Buffer
  } catch (error) {
    if (error instanceof CommandError) throw error
    const isCut = (error as NodeJS.ErrnoException).code === 'Z_BUF_ERROR'
    throw new CommandError(
      isCut ? 'the gzip data ends in the middle' : `the gzip data is damaged: ${(error as Error).message}`,
    )
  }
}

async function* inUtf8(chunks: AsyncGenerator<Buffer>, encoding: string | undefined): AsyncGenerator<Buffer> {
  const [head, isEnded] = await readHead(chunks)
  const mark = head.toString('hex', 0, 2)
  // The mark of UTF-8 wins over the option: a rejects file has it, and is imported with the options of the first file.
  const isMarked = head.subarray(0, 3).equals(BYTE_ORDER_MARK)
  const label = isMarked
    ? 'utf-8'
    : (encoding ?? (mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'))
  if (/^utf-?8$/i.test(label)) {
    if (head.length > 0) yield head
    if (!isEnded) yield* chunks
    return
  }
  const decoder = new TextDecoder(label, { fatal: true })
  const decode = (chunk?: Buffer): Buffer => {
    try {
      return Buffer.from(decoder.decode(chunk, { stream: chunk !== undefined }))
    } catch {
      throw new CommandError(`this is not ${label}: --encoding names the encoding of the file`)
    }
  }
  if (head.length > 0) yield decode(head)
  if (!isEnded) for await (const chunk of chunks) yield decode(chunk)
  yield decode()
}

/** Reads enough bytes to detect the format: the first chunk of a pipe may be a single byte. */
async function readHead(chunks: AsyncGenerator<Buffer>): Promise<[head: Buffer, isEnded: boolean]> {
  let head: Buffer = Buffer.alloc(0)
  while (head.length < 4) {
    const { value, done } = await chunks.next()
    if (done === true) return [head, true]
    head = head.length === 0 ? value : Buffer.concat([head, value])
  }
  return [head, false]
}

async function* readable(path: string, stream: Readable): AsyncGenerator<Buffer, undefined> {
  const iterator = stream[Symbol.asyncIterator]()
  for (;;) {
    let next: IteratorResult<Buffer>
    try {
      next = await iterator.next()
    } catch (error) {
      throw new CommandError(`${path === '-' ? 'stdin' : 'the file'} cannot be read: ${fileProblem(error)}`)
    }
    if (next.done === true) return undefined
    yield next.value
  }
}

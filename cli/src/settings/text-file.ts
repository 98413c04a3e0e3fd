import { readFileSync } from 'node:fs'
import { fileProblem, UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'

/**
 * Reads a small file of text. It may be in UTF-16 with a byte order mark, as `>` of Windows PowerShell writes it.
 *
 * @param what What the file is, for messages: `mapping file`.
 * @throws UsageError when it cannot be read, or is no text.
 */
export function readTextFile(path: string, what: string): string {
  const refuse = (message: string): UsageError => new UsageError(`${what} ${printable(path)}: ${message}`)
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw refuse(fileProblem(error))
  }
  const mark = bytes.toString('hex', 0, 2)
  const encoding = mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8'
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    throw refuse(`this is not ${encoding.toUpperCase()}; save it as UTF-8`)
  }
}

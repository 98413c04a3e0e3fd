import { createHash } from 'node:crypto'

/**
 * The messageId of a line that has none: the same whenever the same line of the same file is imported, in whatever folder the file is.
 *
 * The content of the line is part of it: files of one name in different folders do not take each other's ids.
 */
export function deriveMessageId(sourceName: string, line: number, bytes: Buffer): string {
  const digest = createHash('sha256').update(`${sourceName}\0${line}\0`).update(bytes).digest('base64url')
  return `import-${digest.slice(0, 32)}`
}

import { createHash } from 'node:crypto'

/**
 * The same line of the same file gets the same messageId in every import, even after the file was moved to another folder. The
 * content of the line is included, so that two files with the same name do not share messageIds.
 */
export function deriveMessageId(sourceName: string, line: number, bytes: Buffer): string {
  const digest = createHash('sha256').update(`${sourceName}\0${line}\0`).update(bytes).digest('base64url')
  return `import-${digest.slice(0, 32)}`
}

import { createHash } from 'node:crypto'
import type { SourceRecord } from './record.ts'

/**
 * The same line of the same file gets the same messageId in every import, even after the file was moved to another folder. The
 * content of the line is included, so that two files with the same name do not share messageIds. Events that share a line have
 * their position too.
 */
export function deriveMessageId(
  sourceName: string,
  { line, end, bytes, isInsideLine }: Pick<SourceRecord, 'line' | 'end' | 'bytes' | 'isInsideLine'>,
): string {
  const place = isInsideLine === true ? `${line}:${end}` : line
  const digest = createHash('sha256').update(`${sourceName}\0${place}\0`).update(bytes).digest('base64url')
  return `import-${digest.slice(0, 32)}`
}

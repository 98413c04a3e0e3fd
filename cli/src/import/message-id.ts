import { createHash } from 'node:crypto'

/**
 * Derives the messageId of a line that has none. It is the same each time when the same line of the same file is imported,
 * whatever the folder of the file.
 *
 * It depends on the content of the line, so that different files with the same name do not share ids.
 */
export function deriveMessageId(sourceName: string, line: number, bytes: Buffer): string {
  const digest = createHash('sha256').update(`${sourceName}\0${line}\0`).update(bytes).digest('base64url')
  return `import-${digest.slice(0, 32)}`
}

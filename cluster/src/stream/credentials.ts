import { readFileSync } from 'node:fs'
import { ConfigError } from 'trackpost-collector'

/** @throws ConfigError when the file cannot be read. */
export function readCredentials(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new ConfigError(`credentials: ${path} cannot be read (${code})`)
  }
}

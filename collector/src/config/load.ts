import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigError } from './config-error.ts'
import { type Config, configSchema } from './schema.ts'

/**
 * @param origin Names the configuration in messages, for example the path of the file.
 * @throws ConfigError whose message names every invalid setting.
 */
export function parseConfig(value: unknown, origin: string): Config {
  const result = configSchema.safeParse(value)
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.join('.')}: ${message}`,
  )
  throw new ConfigError(`${origin}: ${problems.join('; ')}`)
}

/**
 * Paths in the file are relative to its folder.
 *
 * @throws ConfigError when the file cannot be read, is not JSON, or has an invalid setting.
 */
export function loadConfig(path: string): Config {
  const config = parseConfig(readJson(path), path)
  const folder = dirname(resolve(path))
  for (const destination of config.destinations) {
    if (destination.type === 'file') destination.path = resolve(folder, destination.path)
  }
  return config
}

function readJson(path: string): unknown {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new ConfigError(`${path}: cannot be read (${(cause as NodeJS.ErrnoException).code})`)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    // The message must be one line. The JSON parser quotes the text around the mistake, which may have line breaks.
    throw new ConfigError(`${path}: not JSON (${(cause as Error).message.replace(/\s+/g, ' ')})`)
  }
}

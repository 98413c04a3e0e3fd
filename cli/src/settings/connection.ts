import type { AnalyticsSettings } from 'trackpost'
import { UsageError } from '../errors.ts'
import { printable } from '../output/text.ts'
import { readTextFile } from './text-file.ts'

export interface ConnectionFlags {
  readonly writeKeyFile?: string
  readonly writeKey?: string
  readonly host?: string
  readonly region?: string
}

export type Connection = Pick<AnalyticsSettings, 'host' | 'region'> & {
  readonly writeKey: string | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

interface Layer {
  readonly source: string
  readonly writeKey?: string | undefined
  readonly writeKeyFile?: string | undefined
  readonly host?: string | undefined
  readonly region?: string | undefined
}

/** A connection, and where its parts come from, such as `the environment`; `undefined` for a default. */
export interface FoundConnection {
  readonly connection: Connection
  readonly keyFrom: string | undefined
  readonly placeFrom: string | undefined
}

/** As {@link findConnection}. @throws UsageError */
export function readConnection(flags: ConnectionFlags, env: Environment): Connection {
  return findConnection(flags, env).connection
}

/**
 * Reads each setting from the flags or, if they do not have it, from the environment. `host` and `region` belong together: both are
 * taken from the first of these that has one of them.
 *
 * @throws UsageError when a file that was named cannot be read, or when a setting is invalid or contradicts another.
 */
export function findConnection(flags: ConnectionFlags, env: Environment): FoundConnection {
  const layers: Layer[] = [
    { source: 'the flags', ...flags },
    {
      source: 'the environment',
      writeKey: env['TRACKPOST_WRITE_KEY'] || undefined,
      writeKeyFile: env['TRACKPOST_WRITE_KEY_FILE'] || undefined,
      host: env['TRACKPOST_HOST'] || undefined,
      region: env['TRACKPOST_REGION'] || undefined,
    },
  ]
  const place = layers.find(({ host, region }) => host !== undefined || region !== undefined)
  const region = place?.region
  if (region !== undefined && region !== 'default' && region !== 'eu') {
    throw new UsageError(`region: expected default or eu, got ${printable(region)}`)
  }
  const key = layers.find(({ writeKey, writeKeyFile }) => (writeKey ?? writeKeyFile) !== undefined)
  return {
    connection: { writeKey: key && keyOf(key), host: place?.host, region },
    keyFrom: key?.source,
    placeFrom: place?.source,
  }
}

/** @throws UsageError when no source has a write key. */
export function requireKey({ writeKey }: Connection): string {
  if (writeKey !== undefined) return writeKey
  throw new UsageError('no write key: use --write-key-file <path>, or set TRACKPOST_WRITE_KEY')
}

function keyOf({ source, writeKey, writeKeyFile }: Layer): string {
  if (writeKey !== undefined && writeKeyFile !== undefined) {
    throw new UsageError(`${source}: expected a write key or a file with one, got both`)
  }
  if (writeKey !== undefined) return writeKey
  const path = writeKeyFile as string
  const text = readTextFile(path, 'write key file').trim()
  if (text === '') throw new UsageError(`write key file ${printable(path)}: it is empty`)
  return text
}

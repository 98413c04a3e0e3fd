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

/**
 * Reads each setting from the flags or, if they do not have it, from the environment. `host` and `region` belong together: both are
 * taken from the first of these that has one of them.
 *
 * @throws UsageError when a file that was named cannot be read, or when a setting is invalid or contradicts another.
 */
export function readConnection(flags: ConnectionFlags, env: Environment): Connection {
  const variable = (name: string): string | undefined => env[`TRACKPOST_${name}`] || undefined
  const { host, region } =
    (flags.host ?? flags.region) === undefined
      ? { host: variable('HOST'), region: variable('REGION') }
      : flags
  if (region !== undefined && region !== 'default' && region !== 'eu') {
    throw new UsageError(`region: expected default or eu, got ${printable(region)}`)
  }
  const writeKey =
    keyOf('the flags', flags.writeKey, flags.writeKeyFile) ??
    keyOf('the environment', variable('WRITE_KEY'), variable('WRITE_KEY_FILE'))
  return { writeKey, host, region }
}

/** @throws UsageError when no source has a write key. */
export function requireKey({ writeKey }: Connection): string {
  if (writeKey !== undefined) return writeKey
  throw new UsageError('no write key: use --write-key-file <path>, or set TRACKPOST_WRITE_KEY')
}

function keyOf(source: string, key: string | undefined, path: string | undefined): string | undefined {
  if (key !== undefined && path !== undefined) {
    throw new UsageError(`${source}: expected a write key or a file with one, got both`)
  }
  // As in a file of variables that Docker reads.
  if (key !== undefined && /^(["']).*\1$/.test(key))
    throw new UsageError(`${source}: the write key has quotes around it: remove them`)
  if (path === undefined) return key
  const text = readTextFile(path, 'write key file').trim()
  if (text === '') throw new UsageError(`write key file ${printable(path)}: it is empty`)
  return text
}

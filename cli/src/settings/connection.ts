import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { AnalyticsSettings } from 'trackpost'
import { UsageError } from '../errors.ts'
import { nearest, printable } from '../output/text.ts'
import { parseJson } from './parse-json.ts'
import { readTextFile } from './text-file.ts'

export interface ConnectionFlags {
  readonly writeKeyFile?: string
  readonly writeKey?: string
  readonly host?: string
  readonly region?: string
  readonly config?: string
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

const CONFIG_NAMES = ['writeKey', 'writeKeyFile', 'host', 'region'] as const

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
 * Reads each setting from the first source that has it: the flags, then the environment, then the config file. `host` and
 * `region` belong together: both are taken from the first source that has one of them.
 *
 * @throws UsageError when a file that was named cannot be read, or when a setting is unknown, invalid or contradicts another.
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
    ...readConfig(flags.config, env),
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

/** Never reads a config file from the current folder, since a cloned repository could redirect events. */
function readConfig(flag: string | undefined, env: Environment): Layer[] {
  const named = flag ?? (env['TRACKPOST_CONFIG'] || undefined)
  const path = named ?? join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'trackpost', 'config.json')
  let text: string
  try {
    text = readTextFile(path, 'config file')
  } catch (error) {
    if (named === undefined) return []
    throw error
  }
  const where = `config file ${printable(path)}`
  const config = parseJson(text, where, 'the file')
  if (typeof config !== 'object' || config === null || Array.isArray(config)) {
    throw new UsageError(`${where}: expected a JSON object`)
  }
  for (const [name, value] of Object.entries(config)) {
    if (!CONFIG_NAMES.some((known) => known === name)) {
      const meant = nearest(name, CONFIG_NAMES)
      const hint = meant === undefined ? `it may have ${CONFIG_NAMES.join(', ')}` : `did you mean ${meant}?`
      throw new UsageError(`${where}: no setting ${printable(name)}; ${hint}`)
    }
    if (typeof value !== 'string') throw new UsageError(`${where}: ${name}: expected text`)
  }
  const { writeKeyFile, ...others } = config as Record<string, string>
  return [
    {
      source: where,
      ...others,
      writeKeyFile: writeKeyFile === undefined ? undefined : resolve(dirname(path), writeKeyFile),
    },
  ]
}

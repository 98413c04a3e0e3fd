import { parseArgs } from 'node:util'
import { ConfigError } from 'trackpost-collector'

interface Option {
  type: 'string' | 'boolean'
  /** Undefined: for both commands. */
  of?: 'front' | 'work'
  multiple?: boolean
  value?: string
  default?: string
  help: string
}

const OPTIONS: Readonly<Record<string, Option>> = {
  log: {
    type: 'string',
    value: 'address',
    help: 'nats://[user:password@]host[:port][,host...] or tls://...',
  },
  to: { type: 'string', of: 'work', value: 'url', help: 'clickhouse://, postgres://, https:// or file:///' },
  name: { type: 'string', of: 'work', value: 'name', help: 'the name of the destination in integrations' },
  header: {
    type: 'string',
    of: 'work',
    multiple: true,
    value: "'name: value'",
    help: 'a header of a webhook',
  },
  'dead-letters': { type: 'boolean', of: 'work', help: 'write the dead letters of the destination, and end' },
  config: {
    type: 'string',
    of: 'front',
    value: 'file',
    help: 'the config file of the collector: sources, rate, ...',
  },
  'allow-public': { type: 'boolean', of: 'front', help: 'let other machines reach the front' },
  port: {
    type: 'string',
    value: 'number',
    help: 'front: 8787; work: any free port, for /readyz and /metrics',
  },
  host: { type: 'string', value: 'address', default: '127.0.0.1', help: 'the address to listen on' },
  credentials: { type: 'string', value: 'file', help: 'the credentials of a NATS account' },
  replicas: {
    type: 'string',
    value: 'number',
    default: '1',
    help: 'servers that keep each event: 1, 3 or 5',
  },
  'max-bytes': {
    type: 'string',
    value: 'number',
    default: String(4 * 1024 ** 3),
    help: 'largest size of the stream',
  },
}

const PREFIX = 'TRACKPOST_CLUSTER_'
const variableOf = (name: string) => PREFIX + name.toUpperCase().replaceAll('-', '_')

export function help(): string {
  const lines = Object.entries(OPTIONS).map(([name, { value, of, default: usual, help: text }]) => {
    const left = `  --${name}${value === undefined ? '' : ` <${value}>`}`
    return `${left.padEnd(28)}${of === undefined ? '' : `${of}: `}${text}${usual === undefined ? '' : ` (${usual})`}`
  })
  return `Usage: trackpost-cluster front --log <address> [options]
       trackpost-cluster work --log <address> --to <url> [options]

A front accepts events over HTTP and writes them to a stream of NATS JetStream; a worker writes them to one destination.

${lines.join('\n')}

Each option has a variable, such as ${variableOf('log')}. Guide: docs/cluster.md
`
}

export type Values = Record<string, string | boolean | string[] | undefined>

/** @throws ConfigError */
export function readArguments(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): { command: 'front' | 'work'; values: Values } {
  const options = Object.fromEntries(
    Object.entries(OPTIONS).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  )
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (cause) {
    throw new ConfigError((cause as Error).message)
  }
  const [command, ...others] = parsed.positionals
  if ((command !== 'front' && command !== 'work') || others.length > 0)
    throw new ConfigError(
      'expected trackpost-cluster front or trackpost-cluster work; --help lists the options',
    )
  const values: Values = { ...parsed.values } as Values
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined) continue
    const [name, option] = Object.entries(OPTIONS).find(([own]) => variableOf(own) === variable) ?? []
    if (name === undefined || option === undefined) throw new ConfigError(`${variable}: no such option`)
    if (option.of === undefined || option.of === command)
      values[name] ??= option.type === 'boolean' ? text === 'true' : option.multiple ? text.split('\n') : text
  }
  for (const [name, option] of Object.entries(OPTIONS)) {
    if (values[name] !== undefined && option.of !== undefined && option.of !== command)
      throw new ConfigError(`--${name} is an option of ${option.of}`)
    values[name] ??= option.default
  }
  return { command, values }
}

/** @throws ConfigError */
export function wholeNumber(values: Values, name: string, max: number): number {
  const number = Number(values[name])
  if (/^\d+$/.test(String(values[name])) && number <= max) return number
  throw new ConfigError(`--${name}: expected a number from 0 to ${max}`)
}

export function headersOf(lines: unknown): Record<string, string> {
  return Object.fromEntries(
    ((lines ?? []) as string[]).map((line) => {
      const [, name, value] = /^([\w-]+):\s*(.*)$/.exec(line) ?? []
      if (name === undefined || value === undefined) throw new ConfigError("--header: expected 'name: value'")
      return [name, value]
    }),
  )
}

import { parseArgs } from 'node:util'
import { ConfigError } from '../config/config-error.ts'
import { COLLECTOR_FLAGS, type Flags } from './flags.ts'

type Environment = Readonly<Record<string, string | undefined>>

// Not `TRACKPOST_` alone: TRACKPOST_HOST and others are what programs with the SDK read, as a rule in the same shell.
const PREFIX = 'TRACKPOST_COLLECTOR_'
/** Variables that the command line of the SDK reads as well, with the same meaning. */
const SHARED: Readonly<Record<string, string>> = { 'admin-token': 'TRACKPOST_ADMIN_TOKEN' }
/** Flags that set the same: one that is given decides over the variable of the other. */
const SAME: Readonly<Record<string, string>> = { store: 'database', database: 'store' }
/** Flags that ask for something at once; nobody wants that of every start. */
const NOT_SET_THERE: ReadonlySet<string> = new Set(['help', 'version'])

/**
 * Kubernetes tells containers of a Service whose name begins with `trackpost-collector`, under names one of which is that of a
 * flag: `TRACKPOST_COLLECTOR_PORT=tcp://10.0.0.7:8787`.
 */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//
const SERVICE_NAME =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

/** Name of the variable that sets a flag. */
export function variableOf(flag: string): string {
  return `${PREFIX}${flag.toUpperCase().replaceAll('-', '_')}`
}

/**
 * The arguments of a command with what the environment sets and they do not. An empty variable counts as not set.
 *
 * @param flags What the command takes; variables for the flags of others are left alone, since containers of several
 *   commands may share an environment.
 * @throws ConfigError for a variable that no flag has: a misspelt one is found at the start.
 */
export function withEnvironment(args: readonly string[], flags: Flags, environment: Environment): string[] {
  refuseUnknown(environment)
  const given = flagsIn(args)
  const added: string[] = []
  for (const [flag, { type, multiple }] of Object.entries(flags)) {
    const [variable, value] = settingOf(flag, environment)
    if (value === '' || given.has(flag) || given.has(SAME[flag] ?? flag) || NOT_SET_THERE.has(flag)) continue
    if (type === 'boolean') {
      if (isTrue(variable, value)) added.push(`--${flag}`)
    } else if (multiple) {
      for (const one of value.split(/[\s,]+/)) if (one !== '') added.push(`--${flag}=${one}`)
    } else added.push(`--${flag}=${value}`)
  }
  return [...added, ...args]
}

/**
 * A problem with a flag, under the name by which it was set: a person who wrote a variable would look for `--drain` on a command
 * line that does not have it.
 */
export function underItsName(cause: unknown, args: readonly string[], environment: Environment): unknown {
  const flag = cause instanceof ConfigError ? /^--([a-z-]+):/.exec(cause.message)?.[1] : undefined
  if (flag === undefined || flagsIn(args).has(flag)) return cause
  const [variable] = settingOf(flag, environment)
  return variable === ''
    ? cause
    : new ConfigError((cause as ConfigError).message.replace(`--${flag}`, variable))
}

function flagsIn(args: readonly string[]): Set<string> {
  const { tokens } = parseArgs({ args: [...args], strict: false, allowPositionals: true, tokens: true })
  return new Set(tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : [])))
}

function settingOf(flag: string, environment: Environment): [variable: string, value: string] {
  for (const variable of [variableOf(flag), SHARED[flag]]) {
    // A line break at the end comes from a secret that was made of a file or with `echo`, and is part of nothing.
    const value = variable === undefined ? '' : (environment[variable] ?? '').replace(/[\r\n]+$/, '')
    if (variable === undefined || value === '') continue
    // Of any other flag it is a mistake, and not to be passed over.
    if (flag !== 'port' || !SERVICE_ADDRESS.test(value)) return [variable, value]
  }
  return ['', '']
}

function isTrue(variable: string, value: string): boolean {
  if (/^(?:1|true|yes|on)$/i.test(value)) return true
  if (/^(?:0|false|no|off)$/i.test(value)) return false
  throw new ConfigError(`${variable}: expected true or false`)
}

function refuseUnknown(environment: Environment): void {
  const known = new Set(Object.keys(COLLECTOR_FLAGS).map(variableOf))
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || known.has(variable)) continue
    if (SERVICE_NAME.test(variable) || SERVICE_ADDRESS.test(value ?? '')) continue
    throw new ConfigError(`${variable}: no flag has this name; see trackpost-collector --help`)
  }
}

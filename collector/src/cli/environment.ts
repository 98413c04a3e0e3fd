import { parseArgs } from 'node:util'
import { ConfigError } from '../config/config-error.ts'
import { COLLECTOR_FLAGS, type Flags } from './flags.ts'

type Environment = Readonly<Record<string, string | undefined>>

// Not just `TRACKPOST_`: programs with the SDK read TRACKPOST_HOST and other variables, often in the same shell.
const PREFIX = 'TRACKPOST_COLLECTOR_'
/** Variables that the command line of the SDK reads too, with the same meaning. */
const SHARED: Readonly<Record<string, string>> = { 'admin-token': 'TRACKPOST_ADMIN_TOKEN' }
/** Flags that have no variable, because they print something and exit. */
const NOT_SET_THERE: ReadonlySet<string> = new Set(['help', 'version'])

/**
 * For a Service named `trackpost-collector`, Kubernetes sets variables in its containers. One of them has the name of a
 * variable for the collector: `TRACKPOST_COLLECTOR_PORT=tcp://10.0.0.7:8787`.
 */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//
const SERVICE_NAME =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

export function variableOf(flag: string): string {
  return `${PREFIX}${flag.toUpperCase().replaceAll('-', '_')}`
}

/**
 * Adds the settings of the environment to the arguments of a command. Arguments win. An empty variable counts as not set.
 *
 * @param flags The flags of the command. Variables for the flags of other commands are ignored, because containers that run
 * different commands may share an environment.
 * @throws ConfigError for a variable without a flag, so that a misspelt variable is found at the start.
 */
export function withEnvironment(args: readonly string[], flags: Flags, environment: Environment): string[] {
  refuseUnknown(environment)
  const given = flagsIn(args)
  const added: string[] = []
  for (const [flag, { type, multiple }] of Object.entries(flags)) {
    const [variable, value] = settingOf(flag, environment)
    if (value === '' || given.has(flag) || NOT_SET_THERE.has(flag)) continue
    if (type === 'boolean') {
      if (isTrue(variable, value)) added.push(`--${flag}`)
    } else if (multiple) {
      for (const one of value.split(/[\s,]+/)) if (one !== '') added.push(`--${flag}=${one}`)
    } else added.push(`--${flag}=${value}`)
  }
  return [...added, ...args]
}

/**
 * If an error names a flag that was set by a variable, replaces the flag by the variable. The user who set the variable would
 * not find `--drain` on the command line.
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
    // Removes a line break at the end: a secret that was made from a file or with `echo` may have one.
    const value = variable === undefined ? '' : (environment[variable] ?? '').replace(/[\r\n]+$/, '')
    if (variable === undefined || value === '') continue
    // For any flag but `port`, such an address is a mistake, and must be reported.
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

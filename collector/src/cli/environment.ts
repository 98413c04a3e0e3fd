import type { Command, Option } from 'commander'
import { ConfigError } from '../config/config-error.ts'

type Environment = Readonly<Record<string, string | undefined>>

// Not just `TRACKPOST_`: programs with the SDK read TRACKPOST_HOST and other variables, often in the same shell.
const PREFIX = 'TRACKPOST_COLLECTOR_'
/** Variables that the command line of the SDK reads too, with the same meaning. */
const SHARED: Readonly<Record<string, string>> = { '--admin-token': 'TRACKPOST_ADMIN_TOKEN' }

/**
 * For a Service named `trackpost-collector`, Kubernetes sets variables in its containers. One of them has the name of a
 * variable for the collector: `TRACKPOST_COLLECTOR_PORT=tcp://10.0.0.7:8787`.
 */
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//
const SERVICE_NAME =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/

/** The options that can be set in the environment: `--version` prints something and exits. */
export function settable({ options }: Command): readonly Option[] {
  return options.filter(({ long }) => long !== '--version')
}

export function variableOf({ long }: Option): string {
  return `${PREFIX}${long?.slice(2).toUpperCase().replaceAll('-', '_')}`
}

/**
 * Sets the options that no argument has set. An empty variable counts as not set.
 *
 * @throws ConfigError for a variable without an option, so that a misspelt variable is found at the start.
 */
export function readEnvironment(program: Command, environment: Environment): void {
  refuseUnknown(program, environment)
  for (const option of settable(program)) {
    const [variable, text] = settingOf(option, environment)
    if (text === '' || program.getOptionValueSource(option.attributeName()) === 'cli') continue
    const value = option.isBoolean()
      ? isTrue(variable, text)
      : // Only an option that can be repeated has a function that collects its values.
        option.parseArg === undefined
        ? text
        : text.split(/[\s,]+/).filter((one) => one !== '')
    program.setOptionValueWithSource(option.attributeName(), value, 'env')
  }
}

/**
 * If an error names an option that was set by a variable, replaces the option by the variable. The user who set the variable
 * would not find `--drain` on the command line.
 */
export function underItsName(cause: unknown, program: Command, environment: Environment): unknown {
  const long = cause instanceof ConfigError ? /^(--[a-z-]+):/.exec(cause.message)?.[1] : undefined
  const option = program.options.find((one) => one.long === long)
  if (option === undefined || program.getOptionValueSource(option.attributeName()) !== 'env') return cause
  const [variable] = settingOf(option, environment)
  return new ConfigError((cause as ConfigError).message.replace(`${long}`, variable))
}

function settingOf(option: Option, environment: Environment): [variable: string, value: string] {
  for (const variable of [variableOf(option), SHARED[option.long ?? '']]) {
    // Removes a line break at the end: a secret that was made from a file or with `echo` may have one.
    const value = variable === undefined ? '' : (environment[variable] ?? '').replace(/[\r\n]+$/, '')
    if (variable === undefined || value === '') continue
    // For any option but `--port`, such an address is a mistake, and must be reported.
    if (option.long !== '--port' || !SERVICE_ADDRESS.test(value)) return [variable, value]
  }
  return ['', '']
}

function isTrue(variable: string, value: string): boolean {
  if (/^(?:1|true|yes|on)$/i.test(value)) return true
  if (/^(?:0|false|no|off)$/i.test(value)) return false
  throw new ConfigError(`${variable}: expected true or false`)
}

function refuseUnknown(program: Command, environment: Environment): void {
  const known = new Set(settable(program).map(variableOf))
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX) || known.has(variable)) continue
    if (SERVICE_NAME.test(variable) || SERVICE_ADDRESS.test(value ?? '')) continue
    throw new ConfigError(`${variable}: no option has this name; see trackpost-collector --help`)
  }
}

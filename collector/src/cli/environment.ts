import type { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'

// Not just `TRACKPOST_`: programs with the SDK read TRACKPOST_HOST and other variables, often in the same shell.
const PREFIX = 'TRACKPOST_COLLECTOR_'
/** A variable that the command line of the SDK reads too, with the same meaning. */
const SHARED_TOKEN = 'TRACKPOST_ADMIN_TOKEN'

/**
 * For a Service named `trackpost-collector`, Kubernetes sets variables in its containers. One of them has the name of a
 * variable for the collector: `TRACKPOST_COLLECTOR_PORT=tcp://10.0.0.7:8787`.
 */
const OF_SERVICE =
  /_(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)$/
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//

export function variableOf(flags: string): string {
  const [name = ''] = flags.slice(2).split(' ')
  return `${PREFIX}${name.toUpperCase().replaceAll('-', '_')}`
}

/**
 * Prepares the environment for commander, which reads the variables of options. It would take an empty variable for a value, and
 * any value of a switch for yes.
 *
 * @throws ConfigError for a variable without an option, so that a misspelt variable is found at the start.
 */
export function prepareEnvironment(program: Command, environment: NodeJS.ProcessEnv): void {
  const switches = new Map(program.options.map((option) => [option.envVar, option.isBoolean()]))
  for (const [variable, given = ''] of Object.entries(environment)) {
    if (!variable.startsWith(PREFIX)) continue
    const value = withoutEnd(given)
    const isSwitch = switches.get(variable)
    const isAddress = variable.endsWith('_PORT') && SERVICE_ADDRESS.test(value)
    if (isAddress || OF_SERVICE.test(variable)) delete environment[variable]
    else if (isSwitch === undefined)
      throw new ConfigError(`${variable}: no option has this name; see trackpost-collector --help`)
    else if (value === '' || (isSwitch && !isTrue(variable, value))) delete environment[variable]
    else environment[variable] = value
  }
  const token = withoutEnd(environment[SHARED_TOKEN] ?? '')
  if (token !== '') environment[variableOf('--admin-token')] ??= token
}

/** For a command that only prints a text about the program, which is how the user finds the right name of a variable. */
export function forgetVariables(environment: NodeJS.ProcessEnv): void {
  for (const variable of Object.keys(environment)) {
    if (variable.startsWith(PREFIX)) delete environment[variable]
  }
}

/** A secret that was made from a file or with `echo` may have a line break at its end. */
function withoutEnd(value: string): string {
  return value.replace(/[\r\n]+$/, '')
}

function isTrue(variable: string, value: string): boolean {
  if (/^(?:1|true|yes|on)$/i.test(value)) return true
  if (/^(?:0|false|no|off)$/i.test(value)) return false
  throw new ConfigError(`${variable}: expected true or false`)
}

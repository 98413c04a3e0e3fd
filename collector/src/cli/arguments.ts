import type { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'

const PRINTING: ReadonlySet<string> = new Set(['-h', '--help', '--version'])

/** Whether the arguments ask for a text about the program. */
export function onlyPrint(args: readonly string[]): boolean {
  return args.some((arg) => PRINTING.has(arg))
}

/**
 * Prepares the arguments for commander. It would take the next option for the value of an option whose value is missing: after
 * `--admin-token $TOKEN --quiet` with an empty variable, `--quiet` would be the token.
 *
 * @throws ConfigError for an option with an empty value, or without one.
 */
export function prepareArguments(program: Command, args: readonly string[]): string[] {
  const options = [program, ...program.commands].flatMap((command) => command.options)
  const prepared: string[] = []
  const left = [...args]
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    if (arg === '--') return [...prepared, arg, ...left]
    const [name = ''] = arg.split('=', 1)
    const option = options.find(({ long }) => long === name)
    // The value of a misspelt option may be a secret, and commander would print it.
    prepared.push(option === undefined && arg.startsWith('-') ? name : arg)
    if (!option?.required) continue
    const isInline = arg !== name
    const value = isInline ? arg.slice(name.length + 1) : left.shift()
    if (value === '') throw new ConfigError(`${name}: the value is empty`)
    // The value may be a secret, so the message does not have it.
    if (!isInline && value !== undefined && /^-./.test(value))
      throw new ConfigError(`${name}: expected a value; put = before one that begins with -`)
    if (!isInline && value !== undefined) prepared.push(value)
  }
  return prepared
}

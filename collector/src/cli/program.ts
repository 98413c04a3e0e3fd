import { Command, InvalidArgumentError, Option } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { version } from '../version.ts'

/** The options of the command line. Each command has all of them, before or after its name. */
export interface Values {
  port: number
  host: string
  store?: string
  keep?: number
  log?: string
  config?: string
  plan?: string
  browserOrigin?: string[]
  allowPublic?: boolean
  adminToken?: string
}

/** Each returns the exit code. */
export interface Commands {
  collect(values: Values): Promise<number>
  keygen(own: { clientId: string; keyId: string }): Promise<number>
  check(values: Values, own: { search?: string }): Promise<number>
  tail(values: Values, own: { q?: string; json?: boolean; url?: string }): Promise<number>
}

/** @param onExit Called with the exit code of the command that ran. */
export function createProgram(commands: Commands, onExit: (exitCode: number) => void): Command {
  const program = new Command('trackpost-collector')
  const values = () => program.opts<Values>()
  const option = (
    flags: string,
    text: string,
    value?: string | number,
    read: (text: string, before: unknown) => unknown = (text) => text,
  ) => {
    const added = new Option(flags, text).default(value)
    // After `--admin-token $TOKEN --allow-public` with an empty variable, `--allow-public` would be the token.
    const checked = (given: string, before: unknown) => {
      if (given !== '' && !given.startsWith('-')) return read(given, before)
      throw new ConfigError(`${added.long}: expected a value that does not begin with -`)
    }
    program.addOption(added.argParser(checked))
  }
  program
    .description('The HTTP tracking API on your machine. Without a command, the collector starts.')
    .configureHelp({ helpWidth: 80, showGlobalOptions: true })
    .configureOutput({ writeErr: () => {} })
    .exitOverride()
    .helpOption('-h, --help', 'this text')
    .action(async () => {
      const [unknown] = program.args
      const names = program.commands.map((one) => one.name()).join(', ')
      if (unknown !== undefined) program.error(`unknown command '${unknown}': the commands are ${names}`)
      onExit(await commands.collect(values()))
    })
  option('--port <number>', 'port, 0 = any free one', 8787, wholeNumber(0, 65_535))
  option('--host <address>', 'address to listen on', '127.0.0.1')
  option(
    '--store <path>',
    "SQLite file, or :memory:; default: trackpost-collector.db in the user's data folder",
  )
  const keep = 'newest events that are kept, default 100000'
  option('--keep <number>', keep, undefined, wholeNumber(1, 1_000_000))
  option('--log <address>', 'nats://<host>: also show the events of a trackpost-cluster')
  option('--config <path>', 'sources, destinations, OAuth ...; without, any write key is accepted')
  option('--plan <path>', 'tracking plan (JSON Schema); events that violate it are marked')
  option(
    '--browser-origin <origin>',
    'pages of this origin may send events, * = all; can be repeated; default: pages of this machine',
    undefined,
    (origin, before = []) => [...(before as string[]), origin],
  )
  program.option(
    '--allow-public',
    'listen on an address that other machines can reach; needs a TLS proxy in front',
  )
  option(
    '--admin-token <text>',
    'token that the page, /api and /metrics require; better in TRACKPOST_ADMIN_TOKEN',
  )
  program.version(version, '--version', 'the version')
  program
    .command('keygen')
    .description('make an RSA key pair, and print the settings for the SDK and for the config file')
    .option('--client-id <id>', 'id of the OAuth application', 'local-app')
    .option('--key-id <id>', 'id of the key', 'local-key')
    .action(async (own) => onExit(await commands.keygen(own)))
  program
    .command('check')
    .description('compare recorded events with a tracking plan; exits with 1 if one violates it')
    .option('--search <line>', 'only events that match this search line')
    .action(async (own) => onExit(await commands.check(values(), own)))
  program
    .command('tail')
    .description('print events as they arrive at the collector on this machine')
    .option('-q, --q <line>', 'only events that match this search line')
    .option('--json', 'one JSON object per line')
    .option('--url <address>', 'another collector, for example http://127.0.0.1:9000')
    .action(async (own) => onExit(await commands.tail(values(), own)))
  // After the commands, which inherit it.
  return program.allowExcessArguments()
}

function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= min && value <= max) return value
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`)
  }
}

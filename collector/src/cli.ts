import { parseArgs } from 'node:util'
import { systemClock } from './clock.ts'
import { ConfigError } from './config/config-error.ts'
import { keygen } from './config/keygen.ts'
import { loadConfig } from './config/load.ts'
import type { Config } from './config/schema.ts'
import { startCollector } from './start.ts'
import { version } from './version.ts'

const HELP = `trackpost-collector: the HTTP tracking API on your machine

Usage: trackpost-collector [options]
       trackpost-collector keygen [--client-id <id>] [--key-id <id>]
       trackpost-collector check --plan <path> [--database <path>] [--search <line>]

  --port <number>      port, 0 = any free one            (8787)
  --host <address>     address to listen on              (127.0.0.1)
  --database <path>    SQLite file, or :memory:          (trackpost-collector.db)
  --config <path>      sources, destinations, OAuth ...  (none: any write key is taken)
  --region <name>      default or eu                     (default)
  --rate <number>      requests a second for each source (no limit)
  --plan <path>        tracking plan (JSON Schema); events that are not as planned are marked  (none)
  --release-to <url>   https://<write key>@<host>: where chosen events may be sent from the page  (none)
  --browser-origin <origin>
                       pages of this origin may send events, * = all; can be repeated
                       (pages of this machine)
  --allow-public       listen on an address that other machines reach; needs a TLS proxy in front
  --admin-token <text> what the page and /api then ask for; better in TRACKPOST_ADMIN_TOKEN  (none)
  --fail-rate <share>  respond with 503 to this share of requests, from 0 to 1  (0)
  --quiet              print nothing but errors
  --version            the version
  --help               this text

keygen makes an RSA key pair and prints the settings for the SDK and for the config file.
check holds the recorded events against a tracking plan, and exits with 1 when one is not as planned.
`

const OPTIONS = {
  port: { type: 'string', default: '8787' },
  host: { type: 'string', default: '127.0.0.1' },
  database: { type: 'string', default: 'trackpost-collector.db' },
  config: { type: 'string' },
  region: { type: 'string' },
  rate: { type: 'string' },
  plan: { type: 'string' },
  'release-to': { type: 'string' },
  'browser-origin': { type: 'string', multiple: true },
  'allow-public': { type: 'boolean', default: false },
  'admin-token': { type: 'string' },
  'fail-rate': { type: 'string' },
  quiet: { type: 'boolean', default: false },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const KEYGEN_OPTIONS = {
  'client-id': { type: 'string', default: 'local-app' },
  'key-id': { type: 'string', default: 'local-key' },
  help: { type: 'boolean', default: false },
} as const

const CHECK_OPTIONS = {
  plan: { type: 'string' },
  database: { type: 'string', default: 'trackpost-collector.db' },
  search: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const

/** Runs the command line; resolves with the exit code when a signal ends the collector, or it cannot start. */
export async function main(args: readonly string[]): Promise<number> {
  // Nobody may read any more what is printed here (`| head -1`); that is no reason to end with an error, or to end.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  try {
    if (args[0] === 'keygen') return runKeygen(args.slice(1))
    if (args[0] === 'check') return await runCheck(args.slice(1))
    return await runCollector(args)
  } catch (cause) {
    process.stderr.write(`trackpost-collector: ${oneLine(cause)}\n`)
    return 1
  }
}

function runKeygen(args: readonly string[]): number {
  const { values } = parseArgs({ args: [...args], options: KEYGEN_OPTIONS })
  process.stdout.write(values.help ? HELP : keygen(values['client-id'], values['key-id']))
  return 0
}

async function runCheck(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: CHECK_OPTIONS })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (values.plan === undefined) throw new ConfigError('check: expected --plan <path>')
  const [{ loadPlan }, { checkDatabase }] = await Promise.all([
    import('./plan/plan.ts'),
    import('./plan/check-database.ts'),
  ])
  const search = values.search === undefined ? {} : { q: values.search }
  const { checked, broken } = await checkDatabase(values.database, loadPlan(values.plan), search)
  for (const { key, path, message, count, firstSeq } of broken) {
    const events = count === 1 ? `event ${firstSeq}` : `${count} events, the first is ${firstSeq}`
    process.stdout.write(`${printable(`${key}: ${path} ${message}`)} (${events})\n`)
  }
  process.stdout.write(`${counted(checked, 'event')} checked, ${counted(broken.length, 'rule')} broken\n`)
  return broken.length === 0 ? 0 : 1
}

async function runCollector(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  if (values.help) {
    process.stdout.write(HELP)
    return 0
  }
  if (values.version) {
    process.stdout.write(`${version}\n`)
    return 0
  }
  const port = wholeNumber('--port', values.port, 0, 65_535)
  const fromFile: Partial<Config> = values.config === undefined ? {} : loadConfig(values.config)
  const config = { ...fromFile }
  if (values.rate !== undefined) config.rate = wholeNumber('--rate', values.rate, 1, 1_000_000)
  if (values.region !== undefined) {
    if (values.region !== 'default' && values.region !== 'eu')
      throw new ConfigError('--region: default or eu')
    config.region = values.region
  }
  const adminToken = values['admin-token'] ?? process.env['TRACKPOST_ADMIN_TOKEN']
  const failRate = values['fail-rate']
  if (values['browser-origin'] !== undefined) config.browserOrigins = values['browser-origin']
  const faults = new FaultLog()
  const collector = await startCollector({
    port,
    host: values.host,
    allowPublic: values['allow-public'],
    database: values.database,
    config,
    ...(values.plan !== undefined && { plan: values.plan }),
    ...(values['release-to'] !== undefined && { releaseTo: values['release-to'] }),
    ...(adminToken !== undefined && { adminToken }),
    ...(failRate !== undefined && { failRate: share('--fail-rate', failRate) }),
    onFault: (what, cause) => faults.report(what, cause),
  })
  if (!values.quiet) {
    process.stdout.write(`trackpost-collector listens on ${collector.url}, page and API; Ctrl+C ends it\n`)
    if (values['allow-public']) process.stdout.write('it speaks no TLS: keep a proxy in front\n')
    if (values['allow-public'] && adminToken === undefined) {
      process.stdout.write('the page and /api are closed to other machines: set --admin-token to open them\n')
    }
  }
  const signal = await nextSignal()
  await collector.close()
  if (!values.quiet) process.stdout.write(`trackpost-collector ended by ${signal}\n`)
  return 0
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve(signal))
  })
}

function wholeNumber(option: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= min && value <= max) return value
  throw new ConfigError(
    `${option}: expected a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`,
  )
}

function share(option: string, text: string): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= 0 && value <= 1) return value
  throw new ConfigError(`${option}: expected a number from 0 to 1, got ${JSON.stringify(text)}`)
}

const FAULT_INTERVAL_MS = 10_000

/** Prints a fault at most once in ten seconds for each kind: a full disk must not fill the log as well. */
class FaultLog {
  readonly #lastMs = new Map<string, number>()

  report(what: string, cause: unknown): void {
    const nowMs = systemClock.monotonic()
    const lastMs = this.#lastMs.get(what)
    if (lastMs !== undefined && nowMs - lastMs < FAULT_INTERVAL_MS) return
    this.#lastMs.set(what, nowMs)
    process.stderr.write(`trackpost-collector: ${what}: ${oneLine(cause)}\n`)
  }
}

/** A cause as one line. */
function oneLine(cause: unknown): string {
  const error = cause as NodeJS.ErrnoException & { port?: number; address?: string }
  if (error?.code === 'EADDRINUSE') return `port ${error.port} is in use; say --port <another>`
  if (error?.code === 'EACCES') return `port ${error.port} is not allowed to this user`
  if (error?.code === 'EADDRNOTAVAIL') return `${error.address} is not an address of this machine`
  return printable(cause instanceof Error ? cause.message : String(cause))
}

/** Without control characters, which could come from a caller's data and forge a line. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
}

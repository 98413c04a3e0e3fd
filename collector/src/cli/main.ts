import { existsSync, mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CommanderError } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { keygen } from '../config/keygen.ts'
import type { Config } from '../config/schema.ts'
import { type CollectorOptions, readConfig } from '../options.ts'
import { startCollector } from '../start.ts'
import { MEMORY } from '../store/database.ts'
import { systemClock } from '../system-clock.ts'
import { onlyPrint, prepareArguments } from './arguments.ts'
import { defaultStore, STORE_NAME } from './default-store.ts'
import { forgetVariables, prepareEnvironment } from './environment.ts'
import { Log, oneLine, printable, withoutCredentials } from './log.ts'
import { createProgram, type Values } from './program.ts'
import { endNow, watchSignals } from './signals.ts'
import { localUrl, tail } from './tail.ts'

/** Longest wait for what does not respond when the process ends: process managers allow ten seconds. */
const CLOSE_LIMIT_MS = 9000

/** Resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  // The program that reads the output may have ended (`| head -1`). The collector runs on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  let exitCode = 0
  const program = createProgram(
    {
      collect: runCollector,
      keygen: async ({ clientId, keyId }) => print(keygen(clientId, keyId)),
      check: runCheck,
      tail: runTail,
    },
    (code) => {
      exitCode = code
    },
  )
  try {
    if (onlyPrint(args)) forgetVariables(process.env)
    prepareEnvironment(program, process.env)
    await program.parseAsync(prepareArguments(program, args), { from: 'user' })
    return exitCode
  } catch (cause) {
    if (cause instanceof CommanderError && cause.exitCode === 0) return 0
    process.stderr.write(`trackpost-collector: ${withoutCredentials(oneLine(cause))}\n`)
    return 1
  }
}

async function runCheck({ plan, store }: Values, { search }: { search?: string }): Promise<number> {
  if (plan === undefined) throw new ConfigError('check: expected --plan <path>')
  const [{ loadPlan }, { checkDatabase }] = await Promise.all([
    import('../plan/plan.ts'),
    import('./check-database.ts'),
  ])
  const { checked, broken } = checkDatabase(
    store ?? defaultStore(process.env),
    loadPlan(plan),
    search === undefined ? {} : { q: search },
  )
  for (const { key, path, message, count, firstSeq } of broken) {
    const events = count === 1 ? `event ${firstSeq}` : `${count} events, the first is ${firstSeq}`
    process.stdout.write(`${printable(`${key}: ${path} ${message}`)} (${events})\n`)
  }
  process.stdout.write(`${counted(checked, 'event')} checked, ${counted(broken.length, 'rule')} broken\n`)
  return broken.length === 0 ? 0 : 1
}

async function runTail(
  { host, port, adminToken }: Values,
  { q, json, url }: { q?: string; json?: boolean; url?: string },
): Promise<number> {
  const address = url ?? localUrl(host, port)
  return tail({
    address,
    q: q ?? '',
    isJson: json ?? false,
    token: adminToken,
    write: (line) => process.stdout.write(line),
    tell: (line) => process.stderr.write(line),
  })
}

async function runCollector(values: Values): Promise<number> {
  const log = newLog(values)
  try {
    return await serve(values, log)
  } catch (cause) {
    log.failed(cause)
    return 1
  }
}

function newLog(values: Values): Log {
  const { releaseTo } = values
  const writeKey =
    releaseTo !== undefined && URL.canParse(releaseTo) ? new URL(releaseTo).username : undefined
  return new Log({
    isQuiet: values.quiet ?? false,
    secrets: [values.adminToken, writeKey],
    addresses: [values.store, values.log],
    clock: systemClock,
    stdout: (line) => process.stdout.write(line),
    stderr: (line) => process.stderr.write(line),
  })
}

async function serve(values: Values, log: Log): Promise<number> {
  const { signalled, hasStarted } = watchSignals()
  const options = await readOptions(values)
  const collector = await startCollector({
    ...options,
    onFault: (what, cause) => log.fault(what, cause),
    onRecovery: (what, fault) => log.recovered(what, fault),
  })
  // Called before the first line is printed: a program that waits for that line may send a signal at once.
  hasStarted()
  log.info(`trackpost-collector listens on ${collector.url}, page and API; Ctrl+C ends it`)
  const { store } = options
  if (store !== undefined && store !== MEMORY) {
    const file = resolve(store)
    log.info(`events are stored in ${file}: the newest ${options.keep ?? 100_000}`)
    if (values.store === undefined && existsSync(STORE_NAME) && file !== resolve(STORE_NAME))
      log.info(`${STORE_NAME} in this folder is not used: to use it, write --store ${STORE_NAME}`)
  }
  if (values.allowPublic) log.info('the collector does not speak TLS: use a TLS proxy in front of it')
  if (values.allowPublic && values.adminToken === undefined) {
    log.info('the page and /api are closed to other machines: set --admin-token to open them')
  }
  if (
    values.allowPublic &&
    options.config !== undefined &&
    typeof options.config === 'object' &&
    options.config.sources === undefined
  )
    log.info('any write key is accepted, so anybody can send events: name your sources in --config')
  const signal = await signalled
  systemClock.setTimer(() => {
    log.info('ended while requests were in flight')
    endNow(signal)
  }, CLOSE_LIMIT_MS)
  await collector.close()
  log.info(`trackpost-collector ended by ${signal}`)
  return 0
}

async function readOptions(values: Values): Promise<CollectorOptions> {
  const config: Partial<Config> = values.config === undefined ? {} : { ...(await readConfig(values.config)) }
  if (values.rate !== undefined) config.rate = values.rate
  if (values.region !== undefined) config.region = values.region
  if (values.browserOrigin !== undefined) config.browserOrigins = values.browserOrigin
  if (values.publicUrl !== undefined) config.publicUrl = values.publicUrl
  const { plan, releaseTo, adminToken, keep, log: stream } = values
  return {
    port: values.port,
    host: values.host,
    allowPublic: values.allowPublic ?? false,
    store: values.store ?? makeDefaultStore(),
    ...(keep !== undefined && { keep }),
    ...(stream !== undefined && { log: stream }),
    config,
    ...(plan !== undefined && { plan }),
    ...(releaseTo !== undefined && { releaseTo }),
    ...(adminToken !== undefined && { adminToken }),
  }
}

function makeDefaultStore(): string {
  try {
    const store = defaultStore(process.env)
    mkdirSync(dirname(store), { recursive: true, mode: 0o700 })
    return store
  } catch (cause) {
    throw new ConfigError(`--store: expected a file, because there is no folder for one (${oneLine(cause)})`)
  }
}

/** Returns the exit code. */
function print(text: string): number {
  process.stdout.write(text)
  return 0
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

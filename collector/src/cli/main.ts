import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { CommanderError } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { keygen } from '../config/keygen.ts'
import { type CollectorOptions, readConfig } from '../options.ts'
import { startCollector } from '../start.ts'
import { MEMORY } from '../store/database.ts'
import { systemClock } from '../system-clock.ts'
import { defaultStore } from './default-store.ts'
import { Log, oneLine, printable } from './log.ts'
import { createProgram, type Values } from './program.ts'
import { localUrl, tail } from './tail.ts'

/** Longest wait for what does not respond when the process ends: process managers allow ten seconds. */
const CLOSE_LIMIT_MS = 9000
const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const print = (text: string) => void process.stdout.write(text)
const tell = (text: string) => void process.stderr.write(text)
const log = new Log(systemClock, print, tell)

/** Resolves with the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  // The program that reads the output may have ended (`| head -1`). The collector runs on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
  let exitCode = 0
  const program = createProgram(
    {
      collect: runCollector,
      async keygen({ clientId, keyId }) {
        print(keygen(clientId, keyId))
        return 0
      },
      check: runCheck,
      tail: ({ host, port, adminToken }, { q = '', json: isJson = false, url = localUrl(host, port) }) =>
        tail({ address: url, q, isJson, token: tokenOf(adminToken), write: print, tell }),
    },
    (code) => {
      exitCode = code
    },
  )
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCode
  } catch (cause) {
    if (cause instanceof CommanderError && cause.exitCode === 0) return 0
    log.failed(cause)
    return 1
  }
}

/** A secret in a variable that was made from a file or with `echo` may have a line break at its end. */
function tokenOf(given: string | undefined): string | undefined {
  return given ?? (process.env['TRACKPOST_ADMIN_TOKEN']?.trimEnd() || undefined)
}

async function runCheck({ plan, store }: Values, { search: q }: { search?: string }): Promise<number> {
  if (plan === undefined) throw new ConfigError('check: expected --plan <path>')
  const [{ loadPlan }, { checkDatabase }] = await Promise.all([
    import('../plan/plan.ts'),
    import('./check-database.ts'),
  ])
  const path = store ?? defaultStore(process.env)
  const { checked, broken } = checkDatabase(path, loadPlan(plan), q === undefined ? {} : { q })
  for (const { key, path, message, count, firstSeq } of broken) {
    const events = count === 1 ? `event ${firstSeq}` : `${count} events, the first is ${firstSeq}`
    print(`${printable(`${key}: ${path} ${message}`)} (${events})\n`)
  }
  print(`${counted(checked, 'event')} checked, ${counted(broken.length, 'rule')} broken\n`)
  return broken.length === 0 ? 0 : 1
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

async function runCollector(values: Values): Promise<number> {
  const options = await readOptions(values)
  const collector = await startCollector({ ...options, onFault: (what, cause) => log.fault(what, cause) })
  // Before the first line is printed: a program that waits for that line may send a signal at once.
  const ending = nextSignal()
  log.info(`trackpost-collector listens on ${collector.url}, page and API; Ctrl+C ends it`)
  const { store = MEMORY, allowPublic, adminToken, keep = 100_000, config } = options
  if (store !== MEMORY) log.info(`events are stored in ${resolve(store)}: the newest ${keep}`)
  if (allowPublic) {
    log.info('the collector does not speak TLS: use a TLS proxy in front of it')
    if (adminToken === undefined)
      log.info('the page and /api are closed to other machines: set --admin-token to open them')
    if (typeof config === 'object' && config.sources === undefined)
      log.info('any write key is accepted, so anybody can send events: name your sources in --config')
  }
  const signal = await ending
  systemClock.setTimer(() => {
    log.info('ended while requests were in flight')
    process.exit(1)
  }, CLOSE_LIMIT_MS)
  await collector.close()
  log.info(`trackpost-collector ended by ${signal}`)
  return 0
}

/** A second signal ends the process at once. */
function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    const end = (signal: NodeJS.Signals) => {
      for (const one of ENDING) process.off(one, end)
      resolve(signal)
    }
    for (const one of ENDING) process.on(one, end)
  })
}

async function readOptions(values: Values): Promise<CollectorOptions> {
  const { config: path, browserOrigin, store = makeDefaultStore(), adminToken, ...options } = values
  const config = path === undefined ? {} : await readConfig(path)
  const token = tokenOf(adminToken)
  return {
    ...options,
    store,
    config: { ...config, ...(browserOrigin !== undefined && { browserOrigins: browserOrigin }) },
    ...(token !== undefined && { adminToken: token }),
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

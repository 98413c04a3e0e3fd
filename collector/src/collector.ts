import { lookup } from 'node:dns/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { basename } from 'node:path'
import type { About, ApiParts } from './api/api.ts'
import { PageAssets } from './assets.ts'
import { type AdminAccess, AdminGate } from './auth/admin.ts'
import { Authenticator } from './auth/caller.ts'
import { LoginLimit } from './auth/login-limit.ts'
import { RateLimit } from './auth/rate-limit.ts'
import { Sources } from './auth/sources.ts'
import { handleToken } from './auth/token-api.ts'
import type { TokenServer } from './auth/tokens.ts'
import { Backend } from './backend.ts'
import { type Clock, systemClock } from './clock.ts'
import { ConfigError } from './config/config-error.ts'
import { DEFAULT_CONFIG } from './config/defaults.ts'
import type { Config, ConfigInput } from './config/schema.ts'
import { type ReleaseTarget, readReleaseTarget } from './destinations/release.ts'
import { FaultInjector } from './faults/injector.ts'
import { type FaultOptions, type FaultRule, type FaultState, Faults } from './faults/rules.ts'
import { TrustedProxies } from './http/address.ts'
import { isLoopback, OriginGuard } from './http/origin.ts'
import { RequestRecorder } from './http/request-recorder.ts'
import { Router } from './http/router.ts'
import { DEFAULT_LIMITS, listen, type RunningServer, type ServerLimits } from './http/server.ts'
import { Turns } from './http/turns.ts'
import { TrackingApi } from './ingest/tracking-api.ts'
import type { Stats } from './live/stats.ts'
import type { WaitOptions } from './live/waiters.ts'
import type { TrackingPlan, TrackingPlanFile } from './plan/plan.ts'
import type { EventRecord } from './record.ts'
import type { EventFilter, EventQuery } from './search/filter.ts'
import { MEMORY, Store } from './store/sqlite/store.ts'
import { version } from './version.ts'

/** How a collector is started. */
export interface CollectorOptions {
  /** Default 8787; 0 = any free port. */
  port?: number
  /** Address to listen on, default 127.0.0.1. */
  host?: string
  /** Needed to listen on an address that is not loopback. There is no TLS here: put a proxy in front. */
  allowPublic?: boolean
  /** A file path, or `:memory:` (default). */
  database?: string
  /** The config, or the path of the file with it. */
  config?: ConfigInput | string
  /**
   * What the page and `/api` then ask for: scripts as `Authorization: Bearer <token>`, people once in a form. With `allowPublic` and
   * without a token, the page and `/api` are closed.
   */
  adminToken?: string
  /** A tracking plan, or the path of a file with one: events that are not as planned are marked. */
  plan?: TrackingPlanFile | string
  /**
   * Where chosen events may be released to from the page: the address of a real service with a write key of it,
   * `https://<write key>@api.segment.io`. Nothing is sent there by itself.
   */
  releaseTo?: string
  /** Chance with which a request to `/v1` is answered 503, from 0 to 1; default 0. */
  failRate?: number
  /** Limits of connections, for tests of hostile clients. */
  limits?: Partial<ServerLimits>
  /** The clocks and timers, for tests. */
  clock?: Clock
  /** Told of faults inside: a database that cannot write, a destination that cannot be reached. Default: nobody. */
  onFault?: (what: string, cause: unknown) => void
}

/** A running collector. */
export interface Collector extends AsyncDisposable {
  /** Base address, without a slash at the end: the `host` of a client. */
  readonly url: string
  readonly port: number
  /** Resolves with the matching records as soon as there are `count`; rejects with `WaitTimeoutError`. */
  waitFor(options: WaitOptions): Promise<EventRecord[]>
  /** The records that match, oldest first; all of them when there is no filter. */
  events(query?: EventQuery): EventRecord[]
  /** The newest record that matches; undefined when there is none. */
  findLast(filter?: EventFilter): EventRecord | undefined
  /** How many records match. */
  count(filter?: EventFilter): number
  stats(): Stats
  /** Forgets all records and the memory of messageIds. */
  clear(): void
  /**
   * Has the next requests to `/v1` and `/token` get a fault in place of the usual response; several calls make a script.
   *
   * @example collector.respondNext({ status: 503, headers: { 'retry-after': '1' }, times: 2 })
   * @throws FaultError when a value cannot be used.
   */
  respondNext(fault: FaultOptions): FaultRule
  /** The faults that are set, the rate of failures, and how many requests got one so far. */
  faults(): FaultState
  /** Removes all faults, `failRate` too. */
  clearFaults(): void
  /** Makes all tokens given out so far invalid, as if they had been revoked. */
  revokeTokens(): void
  /** Finishes requests in flight, commits what they brought, and lets go of port and file. */
  close(): Promise<void>
}

const DEFAULT_PORT = 8787
const CLOSE_GRACE_MS = 5000
const MIN_TOKEN_CHARACTERS = 8

/**
 * Starts a collector.
 *
 * @throws ConfigError when a setting is wrong or the address is public; the system's error when the port is in use; what the
 *   database says when the file cannot be opened.
 */
export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  const config = await readConfig(options.config)
  const host = options.host ?? '127.0.0.1'
  const isLocal = await checkAddress(host, options.allowPublic ?? false)
  const clock = options.clock ?? systemClock
  // What can be wrong is found before anything is opened.
  const access = adminAccess(options.adminToken, isLocal)
  const faults = new Faults(clock)
  if (options.failRate !== undefined) faults.failRate = options.failRate
  const release = readRelease(options.releaseTo)
  const plan = await readPlan(options.plan)
  const store = openStore(options.database ?? MEMORY, config, clock)
  let running: RunningCollector
  try {
    const tokens = await createTokenServer(config, clock, store)
    const checked = { clock, tokens, access, faults, isLocal, plan, release }
    running = new RunningCollector(config, store, options, checked)
  } catch (cause) {
    store.close()
    throw cause
  }
  try {
    await running.listen(options.port ?? DEFAULT_PORT, host)
  } catch (cause) {
    await running.close()
    throw cause
  }
  return running
}

/** The config, checked; the library that checks it is loaded only when there is something to check. */
async function readConfig(given: ConfigInput | string | undefined): Promise<Config> {
  if (given === undefined) return DEFAULT_CONFIG
  const { loadConfig, parseConfig } = await import('./config/load.ts')
  return typeof given === 'string' ? loadConfig(given) : parseConfig(given, 'config')
}

async function createTokenServer(
  { oauth }: Config,
  clock: Clock,
  store: Store,
): Promise<TokenServer | undefined> {
  if (oauth === undefined) return undefined
  const { TokenServer } = await import('./auth/tokens.ts')
  return new TokenServer(oauth, clock, (jti, expiresAtMs, nowMs) =>
    store.useAssertion(jti, expiresAtMs, nowMs),
  )
}

async function checkAddress(host: string, allowPublic: boolean): Promise<boolean> {
  let address: string
  try {
    address = isIP(host) ? host : (await lookup(host)).address
  } catch {
    throw new ConfigError(`host: ${JSON.stringify(host)} cannot be resolved`)
  }
  if (isLoopback(address)) return true
  if (allowPublic) return false
  throw new ConfigError(
    `host: ${host} can be reached from other machines, and the collector speaks no TLS; ` +
      'put a TLS proxy in front and say --allow-public (allowPublic: true)',
  )
}

function openStore(path: string, config: Config, clock: Clock): Store {
  try {
    return new Store({
      path,
      durability: config.durability,
      dedupWindowMs: config.dedupWindow === undefined ? undefined : config.dedupWindow * 1000,
      maxEvents: config.maxEvents,
      maxBytes: config.maxDatabaseBytes,
      now: () => clock.now(),
    })
  } catch (cause) {
    throw new ConfigError(`database: ${path} cannot be opened (${(cause as Error).message})`)
  }
}

/** A plan that was read, and the file that it was made of. */
interface LoadedPlan {
  plan: TrackingPlan
  file: TrackingPlanFile
}

/** What is made of the options before anything is opened. */
interface CheckedParts {
  clock: Clock
  tokens: TokenServer | undefined
  access: AdminAccess
  faults: Faults
  plan: LoadedPlan | null
  release: ReleaseTarget | null
  isLocal: boolean
}

class RunningCollector implements Collector {
  readonly #store: Store
  readonly #backend: Backend
  readonly #about: About
  readonly #tokens: TokenServer | undefined
  readonly #faults: Faults
  readonly #injector: FaultInjector
  readonly #recorder: RequestRecorder
  readonly #router: Router
  readonly #turns = new Turns()
  readonly #page = new PageAssets()
  readonly #clock: Clock
  readonly #limits: ServerLimits
  readonly #onFault: (what: string, cause: unknown) => void
  #server: RunningServer | undefined
  #closing: Promise<void> | undefined
  url = ''
  port = 0

  constructor(config: Config, store: Store, options: CollectorOptions, checked: CheckedParts) {
    const { clock, tokens, faults, plan, release } = checked
    this.#store = store
    this.#clock = clock
    this.#tokens = tokens
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#onFault = options.onFault ?? (() => {})
    this.#backend = new Backend({ config, store, clock, plan, release, onFault: this.#onFault })
    this.#about = aboutOf(config, options, clock)
    this.#faults = faults
    this.#injector = new FaultInjector(this.#faults, this.#clock)
    this.#recorder = new RequestRecorder(this.#backend.requests, this.#clock)
    this.#router = this.#createRouter(config, checked)
  }

  #createRouter(config: Config, { access, isLocal, plan }: CheckedParts): Router {
    const { browserOrigins, hostNames, trustedProxies } = config
    const loginLimit = new LoginLimit(config.failedLoginsPerMinute, this.#clock)
    const tracking = new TrackingApi({
      config,
      clock: this.#clock,
      authenticator: new Authenticator(config, new Sources(config), this.#tokens, loginLimit),
      rateLimit: new RateLimit(this.#clock),
      log: this.#backend.log,
      turns: this.#turns,
      faults: this.#injector,
      plan: plan?.plan,
      onFault: this.#onFault,
    })
    const tokens = this.#tokens
    return new Router({
      guard: new OriginGuard({ isLocal, browserOrigins, hostNames }),
      proxies: new TrustedProxies(trustedProxies),
      recorder: this.#recorder,
      admin: new AdminGate(access, loginLimit),
      tracking,
      handleToken:
        tokens &&
        ((request, response, notes) =>
          handleToken({ tokens, loginLimit, faults: this.#injector }, request, response, notes)),
      handleApi: (url, request, response) => this.#handleApi(url, request, response),
      servePage: (path, request, response) => this.#page.serve(path, request, response),
      onFault: this.#onFault,
    })
  }

  async listen(port: number, host: string): Promise<void> {
    this.#server = await listen(port, host, this.#limits, this.#clock, {
      request: (request, response) => void this.#router.handle(request, response),
      connection: () => this.#turns.accepted(),
      broken: (address, broken) => this.#recorder.broken(address, broken),
    })
    const { address, family, port: actualPort } = this.#server.address
    this.port = actualPort
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`
    this.#tokens?.setIssuer(this.url)
    this.#backend.start()
  }

  async #handleApi(url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    // Loaded with the first request: a test that never asks need not wait for what reads queries.
    const [{ handleFaults }, { handleApi }] = await Promise.all([
      import('./api/faults.ts'),
      import('./api/api.ts'),
    ])
    if (await handleFaults(this.#faults, url, request, response)) return true
    return handleApi(this.#apiParts(), url, request, response)
  }

  #apiParts(): ApiParts {
    const { reader, tail, stream, waiters } = this.#backend
    return {
      reader,
      tail,
      stream,
      about: this.#about,
      actions: this.#backend.actions(),
      now: () => this.#clock.now(),
      stats: () => this.stats(),
      wait: (options, signal) => waiters.wait(options, signal),
    }
  }

  waitFor(options: WaitOptions): Promise<EventRecord[]> {
    return this.#backend.waiters.wait(options)
  }

  events(query: EventQuery = {}): EventRecord[] {
    return this.#store.events(query)
  }

  findLast(filter: EventFilter = {}): EventRecord | undefined {
    return this.#store.events({ ...filter, order: 'newest', limit: 1 })[0]
  }

  count(filter: EventFilter = {}): number {
    return this.#store.count(filter)
  }

  stats(): Stats {
    return this.#backend.stats()
  }

  clear(): void {
    this.#backend.clear()
  }

  respondNext(fault: FaultOptions): FaultRule {
    return this.#faults.add(fault)
  }

  faults(): FaultState {
    return this.#faults.state()
  }

  clearFaults(): void {
    this.#faults.clear()
  }

  revokeTokens(): void {
    this.#tokens?.revokeTokens()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#backend.hangUp()
    this.#injector.close()
    await this.#server?.close(CLOSE_GRACE_MS)
    await this.#backend.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function adminAccess(token: string | undefined, isLocal: boolean): AdminAccess {
  if (token === undefined) return isLocal ? 'open' : 'closed'
  if (token.length >= MIN_TOKEN_CHARACTERS) return { token }
  throw new ConfigError(`adminToken: expected at least ${MIN_TOKEN_CHARACTERS} characters`)
}

/** The plan, if there is one; the library that checks events against it is loaded only then. */
async function readPlan(given: TrackingPlanFile | string | undefined): Promise<LoadedPlan | null> {
  if (given === undefined) return null
  const { PlanError, readPlanFile, TrackingPlan } = await import('./plan/plan.ts')
  try {
    const file = typeof given === 'string' ? readPlanFile(given) : given
    return { file, plan: new TrackingPlan(file) }
  } catch (cause) {
    if (cause instanceof PlanError) throw new ConfigError(`plan: ${cause.message}`)
    throw cause
  }
}

function readRelease(text: string | undefined): ReleaseTarget | null {
  if (text === undefined) return null
  const target = readReleaseTarget(text)
  if (target !== undefined) return target
  throw new ConfigError('releaseTo: expected https://<write key>@<host>')
}

function aboutOf(config: Config, { database = MEMORY, plan }: CollectorOptions, clock: Clock): About {
  return {
    version,
    startedAt: new Date(clock.now()).toISOString(),
    region: config.region,
    database: database === MEMORY ? MEMORY : basename(database),
    sources: config.sources?.map(({ name }) => name) ?? null,
    destinations: config.destinations.map(({ name }) => name),
    hasPlan: plan !== undefined,
    maxEvents: config.maxEvents,
  }
}

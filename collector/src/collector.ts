import { lookup } from 'node:dns/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isIP } from 'node:net'
import { type ApiParts, handleApi } from './api/api.ts'
import { servePage } from './assets.ts'
import { Authenticator } from './auth/caller.ts'
import { LoginLimit } from './auth/login-limit.ts'
import { RateLimit } from './auth/rate-limit.ts'
import { Sources } from './auth/sources.ts'
import { handleToken } from './auth/token-api.ts'
import { TokenServer } from './auth/tokens.ts'
import { Checkpointer } from './checkpointer.ts'
import { type Clock, systemClock } from './clock.ts'
import { ConfigError, loadConfig, parseConfig } from './config/load.ts'
import type { Config, ConfigInput } from './config/schema.ts'
import { Deliverer } from './destinations/deliverer.ts'
import { HttpProblem, replyProblem } from './http/reply.ts'
import { DEFAULT_LIMITS, listen, type RunningServer, type ServerLimits } from './http/server.ts'
import { TrackingApi } from './ingest/tracking-api.ts'
import { type Stats, StatsKeeper } from './live/stats.ts'
import { LiveStream } from './live/stream.ts'
import { Waiters, type WaitOptions } from './live/waiters.ts'
import { type EventRecord, type EventSummary, isKind } from './record.ts'
import type { EventFilter, EventQuery } from './store/filter.ts'
import { Store } from './store/store.ts'
import { Writer } from './store/writer.ts'

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
  /** How many records match. */
  count(filter?: EventFilter): number
  stats(): Stats
  /** Forgets all records and the memory of messageIds. */
  clear(): void
  /** Makes all tokens given out so far invalid, as if they had been revoked. */
  revokeTokens(): void
  /** Finishes requests in flight, commits what they brought, and lets go of port and file. */
  close(): Promise<void>
}

const DEFAULT_PORT = 8787
const MEMORY = ':memory:'
const CLOSE_GRACE_MS = 5000
const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]'])

/** Whether an address can only be reached from this machine. */
export function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? address.startsWith('127.') : address === '::1'
}

/**
 * Starts a collector.
 *
 * @throws ConfigError when a setting is wrong or the address is public; the system's error when the port is in use; what the
 *   database says when the file cannot be opened.
 */
export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  const config =
    typeof options.config === 'string'
      ? loadConfig(options.config)
      : parseConfig(options.config ?? {}, 'config')
  const host = options.host ?? '127.0.0.1'
  const isLocal = await checkAddress(host, options.allowPublic ?? false)
  const store = openStore(options.database ?? MEMORY, config)
  const running = new RunningCollector(config, store, options, isLocal)
  try {
    await running.listen(options.port ?? DEFAULT_PORT, host)
  } catch (cause) {
    await running.close()
    throw cause
  }
  return running
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

function openStore(path: string, config: Config): Store {
  try {
    return new Store({
      path,
      durability: config.durability,
      dedupWindowMs: config.dedupWindow === undefined ? undefined : config.dedupWindow * 1000,
      maxEvents: config.maxEvents,
      maxBytes: config.maxDatabaseBytes,
    })
  } catch (cause) {
    throw new ConfigError(`database: ${path} cannot be opened (${(cause as Error).message})`)
  }
}

class RunningCollector implements Collector {
  readonly #store: Store
  readonly #writer: Writer
  readonly #stats: StatsKeeper
  readonly #stream: LiveStream
  readonly #waiters: Waiters
  readonly #deliverers: Deliverer[]
  readonly #checkpointer: Checkpointer | undefined
  readonly #tracking: TrackingApi
  readonly #tokens: TokenServer | undefined
  readonly #loginLimit: LoginLimit
  readonly #clock: Clock
  readonly #limits: ServerLimits
  readonly #onFault: (what: string, cause: unknown) => void
  readonly #isLocal: boolean
  #server: RunningServer | undefined
  #closing: Promise<void> | undefined
  #isTrimScheduled = false
  url = ''
  port = 0

  constructor(config: Config, store: Store, options: CollectorOptions, isLocal: boolean) {
    this.#store = store
    this.#clock = options.clock ?? systemClock
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.#onFault = options.onFault ?? (() => {})
    this.#isLocal = isLocal
    this.#stats = new StatsKeeper(this.#clock, store.totals())
    this.#stream = new LiveStream(() => this.#stats.snapshot(), this.#clock)
    this.#waiters = new Waiters(store, this.#clock)
    const database = options.database ?? MEMORY
    this.#checkpointer =
      database === MEMORY ? undefined : new Checkpointer(database, () => store.checkpoint(), this.#onFault)
    this.#writer = new Writer(
      (events) => store.commit(events),
      (summaries) => this.#committed(summaries),
    )
    this.#tokens =
      config.oauth === undefined
        ? undefined
        : new TokenServer(config.oauth, this.#clock, (jti, expiresAtMs, nowMs) =>
            store.useAssertion(jti, expiresAtMs, nowMs),
          )
    this.#loginLimit = new LoginLimit(config.failedLoginsPerMinute, this.#clock)
    this.#tracking = new TrackingApi({
      config,
      clock: this.#clock,
      authenticator: new Authenticator(config, new Sources(config), this.#tokens, this.#loginLimit),
      rateLimit: new RateLimit(this.#clock),
      writer: this.#writer,
      onFault: this.#onFault,
    })
    this.#deliverers = config.destinations
      .filter(({ enabled }) => enabled)
      .map(
        (destination) =>
          new Deliverer(destination, store, this.#clock, () => this.#stream.revise(), this.#onFault),
      )
  }

  async listen(port: number, host: string): Promise<void> {
    this.#server = await listen(port, host, this.#limits, this.#clock, (request, response) => {
      this.#route(request, response).catch((cause: unknown) => this.#answerFault(cause, response))
    })
    const { address, family, port: actualPort } = this.#server.address
    this.port = actualPort
    this.url = `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`
    this.#tokens?.setIssuer(this.url)
    const [newest] = this.#store.summaries({ order: 'newest', limit: 1 })
    this.#stream.notify(newest?.seq ?? 0)
    for (const deliverer of this.#deliverers) deliverer.wake()
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.canParse(request.url ?? '', this.url) ? new URL(request.url ?? '', this.url) : undefined
    const path = url?.pathname ?? ''
    const kind = path.startsWith('/v1/') ? path.slice('/v1/'.length) : undefined
    if (kind === 'batch' || isKind(kind)) {
      requireMethod(request, 'POST')
      return this.#tracking.handle(request, response, kind)
    }
    if (path === '/token' && this.#tokens !== undefined) {
      requireMethod(request, 'POST')
      return handleToken(this.#tokens, this.#loginLimit, request, response)
    }
    // From here on people's data is read: not by a page of another site that made its name point here.
    this.#checkHostName(request)
    if (url !== undefined && (await handleApi(this.#apiParts(), url, request, response))) return
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (servePage(path, response)) return
    }
    throw new HttpProblem(404, 'not_found', 'there is nothing at this address')
  }

  #apiParts(): ApiParts {
    return {
      store: this.#store,
      stats: () => this.stats(),
      wait: (options, signal) => this.#waiters.wait(options, signal),
      clear: () => this.clear(),
      stream: this.#stream,
    }
  }

  /** On loopback only the machine's own names are answered, which defeats DNS rebinding. */
  #checkHostName(request: IncomingMessage): void {
    if (!this.#isLocal) return
    const name = (request.headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
    if (LOOPBACK_NAMES.has(name) || isLoopback(name)) return
    throw new HttpProblem(403, 'host_name', 'ask for 127.0.0.1 or localhost')
  }

  #answerFault(cause: unknown, response: ServerResponse): void {
    if (response.headersSent || response.destroyed) {
      response.destroy()
      return
    }
    if (cause instanceof HttpProblem) return replyProblem(response, cause)
    this.#onFault('a request could not be handled', cause)
    const wait = { 'retry-after': '5' }
    replyProblem(response, new HttpProblem(503, 'fault', 'the collector could not handle this', wait))
  }

  #committed(summaries: readonly EventSummary[]): void {
    this.#checkpointer?.committed(summaries.length)
    this.#stats.add(summaries)
    this.#stream.notify(summaries.at(-1)?.seq ?? 0)
    this.#waiters.add(summaries)
    for (const deliverer of this.#deliverers) deliverer.wake()
    if (this.#isTrimScheduled) return
    this.#isTrimScheduled = true
    setImmediate(() => {
      this.#isTrimScheduled = false
      if (this.#closing !== undefined) return
      try {
        this.#store.trim(this.#clock.now())
      } catch (cause) {
        this.#onFault('old events could not be deleted', cause)
      }
    })
  }

  waitFor(options: WaitOptions): Promise<EventRecord[]> {
    return this.#waiters.wait(options)
  }

  events(query: EventQuery = {}): EventRecord[] {
    return this.#store.events(query)
  }

  count(filter: EventFilter = {}): number {
    return this.#store.count(filter)
  }

  stats(): Stats {
    return this.#stats.snapshot()
  }

  clear(): void {
    this.#store.clear()
    this.#stats.clear()
    this.#stream.reset()
  }

  revokeTokens(): void {
    this.#tokens?.revokeTokens()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#waiters.close()
    this.#stream.close()
    await this.#server?.close(CLOSE_GRACE_MS)
    this.#writer.flush()
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.close()))
    await this.#checkpointer?.close()
    this.#store.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function requireMethod(request: IncomingMessage, method: string): void {
  if (request.method !== method) throw new HttpProblem(405, 'method', `expected ${method}`, { allow: method })
}

import { readFileSync } from 'node:fs'
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { type ConnectionOptions, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { type Clock, ConfigError, holdFor, limited } from 'trackpost-collector/ports'
import { MAX_CHUNK_BYTES } from '../log/codec.ts'
import type { LogSettings } from '../log/settings.ts'
import { readAddress } from './address.ts'
import { ensureStreams, UnsafeStreamError } from './streams.ts'
import { connect } from './transport.ts'

/** Time limit for a response of the log. */
export const TIMEOUT_MS = 3000
const RECONNECT_MS = 500
/** The part of the maximum message size that is left for headers. */
const HEADER_BYTES = 4096
const CHECK_AGAIN_MS = 2000
/** Interval of pings. If two pings get no response, the connection is closed: the server may be suspended or unreachable. */
const PING_MS = 2000
/** How long `open` waits for the log, so that it can throw if the log is available but cannot be used. */
const START_WAIT_MS = 2000

export interface ConnectionParts {
  address: string
  settings: LogSettings
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/** The connection to the log, which reconnects by itself, and the state of the log. */
export class LogConnection {
  readonly address: string
  readonly settings: LogSettings
  readonly clock: Clock
  onUnavailable: (reason: string) => void = () => {}
  readonly #options: ConnectionOptions
  readonly #onFault: (what: string, cause: unknown) => void
  #connection: NatsConnection | undefined
  #client: JetStreamClient | undefined
  #manager: JetStreamManager | undefined
  #reason: string | null = 'the log has not been reached yet'
  #wasReady = false
  #isClosed = false
  #isChecking = false
  #cancelCheck = () => {}
  readonly #closing = new AbortController()

  /** @throws ConfigError when the address or the credentials cannot be used. */
  constructor({ address, settings, clock, onFault }: ConnectionParts) {
    const { servers, shown, login } = readAddress(address)
    this.address = shown
    this.settings = settings
    this.clock = clock
    this.#onFault = onFault
    this.#options = {
      ...login,
      servers,
      name: 'trackpost-collector',
      maxReconnectAttempts: -1,
      // A refused login does not end the attempts, because the server's accounts may be changed while this process runs.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: RECONNECT_MS,
      timeout: TIMEOUT_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      ...(settings.credentialsFile !== undefined && {
        authenticator: credsAuthenticator(readCredentials(settings.credentialsFile)),
      }),
    }
  }

  /**
   * Starts to connect. If the log is unavailable, returns after `START_WAIT_MS` and keeps trying to connect.
   *
   * @throws ConfigError when the log is available but cannot be used.
   */
  async open(): Promise<void> {
    let isStarting = true
    const opened = this.#open()
    opened.catch((cause: unknown) => {
      this.#reason = `the log cannot be used (${messageOf(cause)})`
      // Until `open` returns, the error is reported by throwing it.
      if (!isStarting) this.#onFault('the log cannot be used', cause)
    })
    try {
      await limited(opened, START_WAIT_MS, this.clock, () => {})
    } catch (cause) {
      await this.close()
      throw new ConfigError(`log: ${messageOf(cause)}`)
    } finally {
      isStarting = false
    }
  }

  async #open(): Promise<void> {
    const connection = await this.#connect()
    if (connection === undefined) return
    if (this.#isClosed) return connection.close()
    this.#connection = connection
    this.#client = jetstream(connection, { timeout: TIMEOUT_MS })
    this.#manager = await jetstreamManager(connection, { timeout: TIMEOUT_MS, checkAPI: false })
    void this.#follow(connection)
    await this.#check()
  }

  /**
   * Tries to connect until a server accepts the connection. Resolves with undefined when `close` is called first. The retries
   * of the NATS client are not used, because it does not report why an attempt fails, and cannot be stopped while it retries.
   */
  async #connect(): Promise<NatsConnection | undefined> {
    while (!this.#isClosed) {
      try {
        return await connect(this.#options)
      } catch (cause) {
        this.#unusable(`${this.address} cannot be reached: ${loginOr(cause)}`)
      }
      // This timer keeps the process alive. During the start, nothing else does.
      await holdFor(RECONNECT_MS, this.#closing.signal)
    }
    return undefined
  }

  /** Called only before the log is ready for the first time. */
  #unusable(reason: string): void {
    if (this.#isClosed || this.#reason === reason) return
    this.#reason = reason
    this.#onFault('the log cannot be used', new Error(reason))
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'staleConnection')
        this.#becameUnavailable('the connection to the log is cut')
      // The streams are checked again, because the server may be another one, or may have lost its streams.
      else if (type === 'reconnect') this.#checkSoon(0)
    }
  }

  #becameUnavailable(reason: string): void {
    if (this.#isClosed) return
    if (!this.#wasReady) return this.#unusable(reason)
    if (this.#reason === null) {
      this.#onFault('the log is unavailable', new Error(reason))
      this.onUnavailable(reason)
    }
    this.#reason = reason
  }

  async #check(): Promise<void> {
    const manager = this.#manager
    if (manager === undefined || this.#isChecking || this.#isClosed) return
    this.#isChecking = true
    try {
      const notes = await ensureStreams(manager, this.settings)
      for (const note of notes) this.#onFault('the log differs from its settings', new Error(note))
      this.#reason = null
      this.#wasReady = true
    } catch (cause) {
      this.#checkSoon(CHECK_AGAIN_MS)
      if (!(cause instanceof UnsafeStreamError)) return this.#becameUnavailable(reasonOf(cause))
      this.#reason = cause.message
      throw cause
    } finally {
      this.#isChecking = false
    }
  }

  #checkSoon(delayMs: number): void {
    this.#cancelCheck()
    if (this.#isClosed) return
    this.#cancelCheck = this.clock.setTimer(() => {
      this.#check().catch((cause: unknown) => this.#onFault('the log cannot be used', cause))
    }, delayMs)
  }

  /** Must be called after an unexpected failure. */
  suspect(cause: unknown): void {
    this.#becameUnavailable(reasonOf(cause))
    this.#checkSoon(CHECK_AGAIN_MS)
  }

  /** Why the log cannot be used now; null = it can. */
  get reason(): string | null {
    if (this.#isClosed) return 'the log is closed'
    return this.#reason
  }

  /** @throws when the log was never reached. */
  get client(): JetStreamClient {
    if (this.#client === undefined) throw new Error(this.reason ?? 'the log has not been reached yet')
    return this.#client
  }

  /** @throws when the log was never reached. */
  get manager(): JetStreamManager {
    if (this.#manager === undefined) throw new Error(this.reason ?? 'the log has not been reached yet')
    return this.#manager
  }

  /** Does not wait for an acknowledgement, so the message may be lost. */
  send(subject: string, payload: Uint8Array): void {
    if (this.reason !== null) return
    try {
      this.#connection?.publish(subject, payload)
    } catch {
      // The connection has just ended, or the server has reduced its maximum message size.
    }
  }

  /** The limit of the server (without headers), but at most `MAX_CHUNK_BYTES`. */
  get maxMessageBytes(): number {
    const { max_payload = 1024 ** 2 } = this.#connection?.info ?? {}
    return Math.min(MAX_CHUNK_BYTES, max_payload - HEADER_BYTES)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#cancelCheck()
    this.#closing.abort()
    const connection = this.#connection
    if (connection === undefined) return
    // If the log is available, `drain` sends the messages that `send` has buffered.
    const drained = this.#reason === null ? connection.drain().catch(() => {}) : Promise.resolve()
    await limited(drained, TIMEOUT_MS, this.clock, () => {})
    await connection.close()
  }
}

function readCredentials(path: string): Uint8Array {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new ConfigError(
      `log.credentialsFile: ${path} cannot be read (${(cause as NodeJS.ErrnoException).code})`,
    )
  }
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function loginOr(cause: unknown): string {
  return (cause as Error).name === 'AuthorizationError' ? 'it refuses the login' : messageOf(cause)
}

export function reasonOf(cause: unknown): string {
  const { name, message } = cause as Error
  if (name === 'JetStreamNotEnabled')
    return 'JetStream does not respond: nats-server runs without -js, or its cluster has no leader'
  if (name === 'TimeoutError') return 'the log does not respond in time'
  if (name === 'NoRespondersError') return 'no stream accepts the events: it is missing, or has no leader'
  return `the log refuses (${message})`
}

/** Error codes of JetStream for a stream without room: it has its maximum size, or the server has no storage left. */
const FULL_CODES: ReadonlySet<unknown> = new Set([10_077, 10_047, 10_023])

export function isFull(cause: unknown): boolean {
  return FULL_CODES.has((cause as { code?: unknown }).code) || /maximum bytes exceeded/.test(String(cause))
}

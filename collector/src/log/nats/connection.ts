import { readFileSync } from 'node:fs'
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream'
import { type ConnectionOptions, credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { type Clock, holdFor } from '../../clock.ts'
import { ConfigError } from '../../config/config-error.ts'
import { limited } from '../../limited.ts'
import { MAX_CHUNK_BYTES } from '../codec.ts'
import type { LogSettings } from '../settings.ts'
import { readAddress } from './address.ts'
import { ensureStreams, UnsafeStreamError } from './streams.ts'
import { connect } from './transport.ts'

/** Longest wait for an answer of the log, milliseconds. */
export const TIMEOUT_MS = 3000
const RECONNECT_MS = 500
/** Room for the headers of a message. */
const HEADER_BYTES = 4096
const CHECK_AGAIN_MS = 2000
/** Interval of pings. A connection without a response for twice as long is closed: the server may be stopped or unreachable. */
const PING_MS = 2000
/** How long the start waits for the log, so that it can report a log that is available but unusable. */
const START_WAIT_MS = 2000

/** Options of a connection. */
export interface ConnectionParts {
  address: string
  settings: LogSettings
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/** The connection to the log, which reconnects by itself, and its state. */
export class LogConnection {
  readonly address: string
  readonly settings: LogSettings
  readonly clock: Clock
  /** Called when the log becomes unavailable, with the reason. */
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
      // The credentials may be replaced while this process runs.
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
   * Starts to connect. If the log is unavailable, keeps trying after the return.
   *
   * @throws ConfigError when the log is available but cannot be used.
   */
  async open(): Promise<void> {
    let isStarting = true
    const opened = this.#open()
    opened.catch((cause: unknown) => {
      this.#reason = `the log cannot be used (${messageOf(cause)})`
      // During the start, the error that is thrown reports it.
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
   * Tries until a server accepts the connection; undefined when `close` is called first. The client could retry by itself, but
   * does not say why it fails, and cannot be stopped, so the process would not end.
   */
  async #connect(): Promise<NatsConnection | undefined> {
    while (!this.#isClosed) {
      try {
        return await connect(this.#options)
      } catch (cause) {
        this.#unusable(`${this.address} cannot be reached: ${loginOr(cause)}`)
      }
      // This timer keeps the process alive: during the start, nothing else does.
      await holdFor(RECONNECT_MS, this.#closing.signal)
    }
    return undefined
  }

  /** Reports why the log could not be used so far, unless the last report gave the same reason. */
  #unusable(reason: string): void {
    if (this.#isClosed || this.#reason === reason) return
    this.#reason = reason
    this.#onFault('the log cannot be used', new Error(reason))
  }

  /** Follows the state of the connection until it is closed. */
  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'staleConnection')
        this.#becameUnavailable('the connection to the log is cut')
      // The connection may lead to another server now, or to one that has lost its streams.
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

  /** Checks the streams repeatedly until they can be used. */
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

  /** Call after an unexpected failure: checks the streams again. */
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

  /** Sends without waiting for an acknowledgement. */
  send(subject: string, payload: Uint8Array): void {
    if (this.reason !== null) return
    try {
      this.#connection?.publish(subject, payload)
    } catch {
      // The connection has just ended, or the server has a lower limit now: the message is lost.
    }
  }

  /** Maximum size of a message in bytes: the limit of the server, or a lower one that suits the store. */
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
    // Flushes the messages that were sent without waiting, if the log is available.
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

/** Why an operation of the log failed, as one sentence. */
export function reasonOf(cause: unknown): string {
  const { name, message } = cause as Error
  if (name === 'JetStreamNotEnabled') return 'JetStream is not enabled: start nats-server with -js'
  if (name === 'TimeoutError') return 'the log does not respond in time'
  if (name === 'NoRespondersError') return 'no stream accepts the events: it is missing, or has no leader'
  return `the log refuses (${message})`
}

/** Codes of JetStream for a stream without room: its maximum bytes, or the server's disk. */
const FULL_CODES: ReadonlySet<unknown> = new Set([10_077, 10_047, 10_023])

/** Whether a stream has refused a message because it is full. */
export function isFull(cause: unknown): boolean {
  return FULL_CODES.has((cause as { code?: unknown }).code) || /maximum bytes exceeded/.test(String(cause))
}

import { setTimeout as wait } from 'node:timers/promises'
import {
  type JetStreamClient,
  type JetStreamManager,
  type JetStreamPublishOptions,
  jetstream,
  jetstreamManager,
} from '@nats-io/jetstream'
import { credsAuthenticator, type NatsConnection } from '@nats-io/transport-node'
import { readAddress, type StreamAddress } from './address.ts'
import { readCredentials } from './credentials.ts'
import { deadStream, ensureStream, eventStream, hasDestination, type StreamSettings } from './streams.ts'
import { connect } from './transport.ts'
import { isTooOld, OLDEST_SERVER } from './version.ts'

/** Longest wait for an answer of the stream: with it, a front answers 503 within 5 s. */
const TIMEOUT_MS = 3000
/** Pause between two looks at the stream, and between two attempts to connect. */
const LOOK_MS = 1000
/** After two pings without an answer, the connection is replaced: the server may be suspended, or the network gone. */
const PING_MS = 2000
/** Above this, the stream counts as full, so that a request with many events is not taken in part. */
const FULL_RATIO = 0.98

export interface ConnectionParts {
  address: string
  settings: StreamSettings
  /** File with the credentials of a NATS account. */
  credentials?: string | undefined
  /** Whether the stream is unusable as long as no destination reads it. */
  needsDestination?: boolean
  onFault(what: string, cause: unknown): void
}

/** The connection to the stream, which comes back by itself, and whether the stream can be used now. */
export class StreamConnection {
  readonly #parts: ConnectionParts
  readonly #address: StreamAddress
  readonly #authenticator: ReturnType<typeof credsAuthenticator> | undefined
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #connection: NatsConnection | undefined
  #client: JetStreamClient | undefined
  #manager: JetStreamManager | undefined
  #reason: string | null = 'the stream has not been reached yet'
  #fillRatio = 0
  #deadLetters = 0

  /** @throws ConfigError when the address or the file with the credentials cannot be used. */
  constructor(parts: ConnectionParts) {
    this.#parts = parts
    this.#address = readAddress(parts.address)
    this.#authenticator =
      parts.credentials === undefined ? undefined : credsAuthenticator(readCredentials(parts.credentials))
    this.#running = this.#run()
  }

  get address(): string {
    return this.#address.shown
  }

  /** Why the stream cannot be used now; null = it can. */
  get reason(): string | null {
    return this.#closing.signal.aborted ? 'the connection to the stream is closed' : this.#reason
  }

  /** How full the stream was at the last look, from 0 to 1. */
  get fillRatio(): number {
    return this.#fillRatio
  }

  /** Dead letters of all destinations at the last look. */
  get deadLetters(): number {
    return this.#deadLetters
  }

  /** @throws when the stream was never reached. */
  get client(): JetStreamClient {
    if (this.#client === undefined) throw new Error(this.#reason ?? '')
    return this.#client
  }

  /** @throws when the stream was never reached. */
  get manager(): JetStreamManager {
    if (this.#manager === undefined) throw new Error(this.#reason ?? '')
    return this.#manager
  }

  /** Rejects if the stream has not stored the message within `TIMEOUT_MS`. It may have the message nevertheless. */
  async publish(
    subject: string,
    payload: Uint8Array,
    options: Partial<JetStreamPublishOptions> = {},
  ): Promise<void> {
    if (this.reason !== null) throw new Error(this.reason)
    try {
      await this.client.publish(subject, payload, { ...options, timeout: TIMEOUT_MS, retries: 0 })
    } catch (cause) {
      this.suspect(cause)
      throw cause
    }
  }

  /** Call this after an unexpected failure: the stream then counts as unusable until the next look. */
  suspect(cause: unknown): void {
    if (this.#reason === null) this.#unusable(reasonOf(cause))
  }

  #unusable(reason: string): void {
    if (reason === this.#reason || this.#closing.signal.aborted) return
    this.#reason = reason
    this.#parts.onFault('the stream cannot be used', new Error(reason))
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#look()
        this.#reason = null
      } catch (cause) {
        this.#unusable(reasonOf(cause))
      }
      await wait(LOOK_MS, undefined, { signal }).catch(() => {})
    }
  }

  /** @throws when the stream cannot be used. */
  async #look(): Promise<void> {
    const { settings, needsDestination = false } = this.#parts
    const manager = this.#manager ?? (await this.#connect())
    const version = this.#connection?.info?.version ?? ''
    if (isTooOld(version))
      throw new Error(
        `nats-server ${version} can lose events when it is started again: ${OLDEST_SERVER} or later is needed`,
      )
    const { state, config } = await ensureStream(manager, eventStream(settings))
    this.#deadLetters = (await ensureStream(manager, deadStream(settings))).state.messages
    this.#fillRatio = config.max_bytes > 0 ? state.bytes / config.max_bytes : 0
    if (!needsDestination) return
    if (this.#fillRatio > FULL_RATIO) throw new Error('the stream is full: its destinations do not keep up')
    if (!(await hasDestination(manager)))
      throw new Error('no destination reads the stream: start `trackpost-cluster work --to <url>` first')
  }

  async #connect(): Promise<JetStreamManager> {
    const connection = await connect({
      ...this.#address.options,
      name: 'trackpost-cluster',
      maxReconnectAttempts: -1,
      // The accounts of the server may be changed while this process runs.
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: 500,
      timeout: TIMEOUT_MS,
      pingInterval: PING_MS,
      maxPingOut: 2,
      ...(this.#authenticator !== undefined && { authenticator: this.#authenticator }),
    })
    if (this.#closing.signal.aborted) await connection.close()
    this.#connection = connection
    this.#client = jetstream(connection, { timeout: TIMEOUT_MS })
    this.#manager = await jetstreamManager(connection, { timeout: TIMEOUT_MS, checkAPI: false })
    void this.#follow(connection)
    return this.#manager
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const { type } of connection.status())
      if (type === 'disconnect') this.suspect(new Error('the connection to the stream is cut'))
  }

  async close(): Promise<void> {
    this.#closing.abort()
    const connection = this.#connection
    // Sends the acknowledgements that are still in the buffer of the client.
    if (this.#reason === null) await Promise.race([connection?.flush().catch(() => {}), wait(TIMEOUT_MS)])
    await connection?.close()
    await this.#running
  }
}

/** Codes of JetStream for a stream without room: it has its largest size, or the server has no storage left. */
const FULL_CODES: ReadonlySet<unknown> = new Set([10_077, 10_047, 10_023])
const NO_SUITABLE_PEERS = 10_005

function reasonOf(cause: unknown): string {
  const { name, message, code } = cause as Error & { code?: unknown }
  if (FULL_CODES.has(code)) return 'the stream is full: its destinations do not keep up'
  if (code === NO_SUITABLE_PEERS) return 'too few servers are there for so many replicas'
  if (name === 'JetStreamNotEnabled') return 'nats-server runs without JetStream (-js), or has no leader'
  if (name === 'NoRespondersError') return 'no stream takes the events: it is missing, or has no leader'
  if (name === 'AuthorizationError') return 'nats-server refuses the login'
  return name === 'TimeoutError' ? 'the stream does not answer in time' : message
}

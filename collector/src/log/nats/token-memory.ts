import { createHash } from 'node:crypto'
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'
import { type KV, Kvm, type KvOptions } from '@nats-io/kv'
import type { AssertionMemory, KeptText, TokenKeyStore, TokenMemory } from '../../store/ports.ts'
import { type LogConnection, TIMEOUT_MS } from './connection.ts'

const KEY = 'keys'
const KEYS_BYTES = 1024 ** 2
const ASSERTIONS_BYTES = 64 * 1024 ** 2
/** Assertions live for a minute; the rest is for clocks that are apart. */
const ASSERTIONS_MS = 3_600_000

/** What all processes beside a log share for tokens, in two buckets beside its streams. They are made when they are first needed. */
export class NatsTokenMemory implements TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore

  constructor(connection: LogConnection) {
    const { stream, maxBytes } = connection.settings
    const keys = new Bucket(connection, `${stream}-keys`, { max_bytes: KEYS_BYTES })
    const assertions = new Bucket(connection, `${stream}-assertions`, {
      max_bytes: Math.min(ASSERTIONS_BYTES, maxBytes),
      ttl: ASSERTIONS_MS,
    })
    this.assertions = {
      use: (jti) => {
        // Of two that come at the same time, the server takes one.
        const key = createHash('sha256').update(jti).digest('hex')
        return assertions.with(async (bucket) => (await unlessTaken(bucket.create(key, ''))) !== undefined)
      },
    }
    this.tokenKeys = new TokenKeys(keys)
  }
}

/** The keys of tokens; the version is the number that the server gave to the text. */
class TokenKeys implements TokenKeyStore {
  readonly #bucket: Bucket

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  read(): Promise<KeptText | undefined> {
    return this.#bucket.with(async (bucket) => {
      const entry = await bucket.get(KEY)
      // What was taken out by hand is as good as nothing.
      if (entry === null || entry.operation !== 'PUT') return undefined
      return { text: entry.string(), version: String(entry.revision) }
    })
  }

  replace(version: string | undefined, text: string): Promise<string | undefined> {
    return this.#bucket.with(async (bucket) => {
      const written =
        version === undefined ? bucket.create(KEY, text) : bucket.update(KEY, text, Number(version))
      const revision = await unlessTaken(written)
      return revision === undefined ? undefined : String(revision)
    })
  }
}

/** A bucket that is opened when it is needed, and again after something has failed. */
class Bucket {
  readonly #connection: LogConnection
  readonly #name: string
  readonly #options: Partial<KvOptions>
  #opened: Promise<KV> | undefined

  constructor(connection: LogConnection, name: string, options: Partial<KvOptions>) {
    this.#connection = connection
    this.#name = name
    this.#options = options
  }

  /** @throws what is in the way, at once while the log is known to be away. */
  async with<T>(use: (bucket: KV) => Promise<T>): Promise<T> {
    const { client, reason, settings } = this.#connection
    if (reason !== null) throw new Error(reason)
    this.#opened ??= new Kvm(client).create(this.#name, {
      ...this.#options,
      replicas: settings.replicas,
      history: 1,
      timeout: TIMEOUT_MS,
      // By the server that leads: another one may be behind it.
      allow_direct: false,
    })
    const opened = this.#opened
    try {
      return await use(await opened)
    } catch (cause) {
      if (this.#opened === opened) this.#opened = undefined
      throw cause
    }
  }
}

/** Undefined when another one has written since. */
async function unlessTaken(written: Promise<number>): Promise<number | undefined> {
  try {
    return await written
  } catch (cause) {
    const code = cause instanceof JetStreamApiError ? cause.code : undefined
    const isTaken =
      code === JetStreamApiCodes.StreamWrongLastSequence ||
      code === JetStreamApiCodes.StreamWrongLastSequenceUnknown
    if (isTaken) return undefined
    throw cause
  }
}

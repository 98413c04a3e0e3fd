import { DiscardPolicy, JetStreamApiError, StorageType } from '@nats-io/jetstream'
import { type KV, Kvm, type KvStatus } from '@nats-io/kv'
import { type Clock, sleep } from 'trackpost-collector/ports'
import { type LogConnection, TIMEOUT_MS } from './connection.ts'

/** While another process is creating the bucket, requests are repeated for about `TIMEOUT_MS`. */
const REPEAT_MS = 50
const REPETITIONS = TIMEOUT_MS / REPEAT_MS
/** The name or the subjects of a stream are in use: another process has created the stream at the same time. */
const IN_USE: ReadonlySet<number> = new Set([10058, 10065])

/** A bucket is a key-value store of NATS. */
export interface BucketSettings {
  name: string
  maxBytes: number
  /** Undefined = entries are kept forever. */
  ttlMs?: number
}

/** Opens the bucket when it is needed, and again after a failure. */
export class Bucket {
  readonly #connection: LogConnection
  readonly #settings: BucketSettings
  readonly #onNote: (note: string) => void
  #opened: Promise<KV> | undefined
  #noted: string | undefined

  /** @param onNote Called for a harmless difference between an existing bucket and the settings. */
  constructor(connection: LogConnection, settings: BucketSettings, onNote: (note: string) => void) {
    this.#connection = connection
    this.#settings = settings
    this.#onNote = onNote
  }

  /** Throws when the bucket cannot be used, and at once while the log is unavailable. */
  async with<T>(use: (bucket: KV) => Promise<T>): Promise<T> {
    const { reason } = this.#connection
    if (reason !== null) throw new Error(reason)
    this.#opened ??= this.#open()
    const opened = this.#opened
    try {
      const bucket = await opened
      return await untilCreated(() => use(bucket), this.#connection.clock)
    } catch (cause) {
      if (this.#opened === opened) this.#opened = undefined
      throw cause
    }
  }

  async #open(): Promise<KV> {
    const { client, settings, clock } = this.#connection
    const { name, maxBytes, ttlMs } = this.#settings
    const kvm = new Kvm(client)
    const create = () =>
      kvm.create(name, {
        max_bytes: maxBytes,
        ...(ttlMs !== undefined && { ttl: ttlMs }),
        replicas: settings.replicas,
        history: 1,
        timeout: TIMEOUT_MS,
        // Reads must come from the leader, because other servers may lag behind.
        allow_direct: false,
      })
    const bucket = await untilCreated(create, clock)
    // `create` opens an existing bucket without changing its settings.
    const found = await bucket.status()
    requireSafe(this.#settings, found)
    await untilCreated(() => requireReady(bucket), clock)
    if (found.replicas !== settings.replicas) {
      this.#note(`log.replicas of the bucket ${name} is ${found.replicas}, not ${settings.replicas}`)
    }
    return bucket
  }

  #note(difference: string): void {
    if (this.#noted === difference) return
    this.#noted = difference
    this.#onNote(`${difference}: the bucket was left as it is`)
  }
}

/** Repeats a request while another process is creating the bucket, or its stream has no leader. */
async function untilCreated<T>(attempt: () => Promise<T>, clock: Clock): Promise<T> {
  for (let left = REPETITIONS; ; left--) {
    try {
      return await attempt()
    } catch (cause) {
      // The client reports a write without a stream as an error of this name, and does not export its class.
      const isEarly =
        cause instanceof JetStreamApiError
          ? IN_USE.has(cause.code)
          : (cause as Error).name === 'JetStreamNotEnabled'
      if (left === 0 || !isEarly) throw cause
      await sleep(clock, REPEAT_MS)
    }
  }
}

/**
 * Resolves when the server has looked at a write that it cannot accept. A nats-server without a cluster crashes when a stream
 * is read that is just being created (seen with 2.9.10), but it passes on writes only to a stream that is ready.
 */
async function requireReady(bucket: KV): Promise<void> {
  try {
    await bucket.put('probe', '', { previousSeq: Number.MAX_SAFE_INTEGER })
  } catch (cause) {
    if (!(cause instanceof JetStreamApiError)) throw cause
  }
}

/**
 * Throws if the settings of an existing bucket allow NATS to lose entries or delete them too early. The entries are keys that
 * sign tokens, or client assertions: an assertion that is no longer stored could be used a second time.
 */
function requireSafe({ name, ttlMs }: BucketSettings, { ttl, storage, streamInfo }: KvStatus): void {
  const must = (isSo: boolean, expected: string) => {
    if (!isSo) throw new Error(`the bucket ${name} has other limits: expected ${expected}`)
  }
  const { discard } = streamInfo.config
  must(storage === StorageType.File, `storage ${StorageType.File}, found ${storage}`)
  must(discard === DiscardPolicy.New, `discard ${DiscardPolicy.New}, found ${discard}`)
  const isLongEnough = ttl === 0 || (ttlMs !== undefined && ttl >= ttlMs)
  must(isLongEnough, `${ttlMs === undefined ? 'no ttl' : `a ttl of ${ttlMs} ms`}, found ${ttl} ms`)
}

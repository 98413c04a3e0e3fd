import { DiscardPolicy, StorageType } from '@nats-io/jetstream'
import { type KV, Kvm, type KvStatus } from '@nats-io/kv'
import { type Clock, sleep } from '../../clock.ts'
import { type LogConnection, TIMEOUT_MS } from './connection.ts'

/** A write that no stream has taken is repeated for about `TIMEOUT_MS`. */
const REPEAT_MS = 50
const REPETITIONS = TIMEOUT_MS / REPEAT_MS

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
      return await whenTaken(use, await opened, this.#connection.clock)
    } catch (cause) {
      if (this.#opened === opened) this.#opened = undefined
      throw cause
    }
  }

  async #open(): Promise<KV> {
    const { client, settings } = this.#connection
    const { name, maxBytes, ttlMs } = this.#settings
    const bucket = await new Kvm(client).create(name, {
      max_bytes: maxBytes,
      ...(ttlMs !== undefined && { ttl: ttlMs }),
      replicas: settings.replicas,
      history: 1,
      timeout: TIMEOUT_MS,
      // Reads must come from the leader, because other servers may lag behind.
      allow_direct: false,
    })
    // `create` opens an existing bucket without changing its settings.
    const found = await bucket.status()
    requireSafe(this.#settings, found)
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

/** A bucket that another process has just created may not take writes yet. */
async function whenTaken<T>(use: (bucket: KV) => Promise<T>, bucket: KV, clock: Clock): Promise<T> {
  for (let left = REPETITIONS; ; left--) {
    try {
      return await use(bucket)
    } catch (cause) {
      // The client's error for a write that no stream has taken. The client does not export its class.
      if (left === 0 || (cause as Error).name !== 'JetStreamNotEnabled') throw cause
      await sleep(clock, REPEAT_MS)
    }
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

import { createHash } from 'node:crypto'
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'
import type { KV } from '@nats-io/kv'
import type { AssertionMemory, KeptText, TokenKeyStore, TokenMemory } from 'trackpost-collector/ports'
import { Bucket } from './bucket.ts'
import type { LogConnection } from './connection.ts'

const KEY = 'keys'
const KEYS_BYTES = 1024 ** 2
const ASSERTIONS_BYTES = 64 * 1024 ** 2
/** Longer than client assertions are valid (a minute), because clocks may differ. */
const ASSERTIONS_MS = 3_600_000

/** The data are in two buckets, which are created when they are first needed. */
export class NatsTokenMemory implements TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore

  /** @param onNote Called for a harmless difference between an existing bucket and the settings. */
  constructor(connection: LogConnection, onNote: (note: string) => void) {
    const { stream, maxBytes } = connection.settings
    const keys = new Bucket(connection, { name: `${stream}-keys`, maxBytes: KEYS_BYTES }, onNote)
    const assertions = new Bucket(
      connection,
      {
        name: `${stream}-assertions`,
        maxBytes: Math.min(ASSERTIONS_BYTES, maxBytes),
        ttlMs: ASSERTIONS_MS,
      },
      onNote,
    )
    this.assertions = {
      use: (jti) => {
        // If two processes create the same entry at the same time, the server accepts only one of the calls.
        const key = createHash('sha256').update(jti).digest('hex')
        return assertions.with(async (bucket) => (await create(bucket, key, '')) !== undefined)
      },
    }
    this.tokenKeys = new TokenKeys(keys)
  }
}

/** The version is the revision of the entry. */
class TokenKeys implements TokenKeyStore {
  readonly #bucket: Bucket

  constructor(bucket: Bucket) {
    this.#bucket = bucket
  }

  read(): Promise<KeptText | undefined> {
    return this.#bucket.with(async (bucket) => {
      const entry = await bucket.get(KEY)
      // A deleted entry counts as absent.
      if (entry === null || entry.operation !== 'PUT') return undefined
      return { text: entry.string(), version: String(entry.revision) }
    })
  }

  replace(version: string | undefined, text: string): Promise<string | undefined> {
    return this.#bucket.with(async (bucket) => {
      const revision = await (version === undefined
        ? create(bucket, KEY, text)
        : unlessTaken(bucket.update(KEY, text, Number(version))))
      return revision === undefined ? undefined : String(revision)
    })
  }
}

/**
 * Resolves with undefined if the entry exists. Unlike `KV.create`, does not read the bucket when no stream has taken the write,
 * for the reason given at `requireReady`.
 */
async function create(bucket: KV, key: string, text: string): Promise<number | undefined> {
  const revision = await unlessTaken(bucket.put(key, text, { previousSeq: 0 }))
  if (revision !== undefined) return revision
  const entry = await bucket.get(key)
  // The marker of a deleted entry is replaced.
  if (entry === null || entry.operation === 'PUT') return undefined
  return unlessTaken(bucket.update(key, text, entry.revision))
}

/** Resolves with undefined when another process has written the entry first. */
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

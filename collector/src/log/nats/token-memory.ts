import { createHash } from 'node:crypto'
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream'
import type { AssertionMemory, KeptText, TokenKeyStore, TokenMemory } from '../../store/ports.ts'
import { Bucket } from './bucket.ts'
import type { LogConnection } from './connection.ts'

const KEY = 'keys'
const KEYS_BYTES = 1024 ** 2
const ASSERTIONS_BYTES = 64 * 1024 ** 2
/** Assertions live for a minute; the rest is for clocks that are apart. */
const ASSERTIONS_MS = 3_600_000

/** The memory for tokens that all processes beside a log share, in two buckets beside its streams. They are made when they are first needed. */
export class NatsTokenMemory implements TokenMemory {
  readonly assertions: AssertionMemory
  readonly tokenKeys: TokenKeyStore

  /** @param onNote Told what differs from the settings and does no harm. */
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
      // An entry that was removed by hand counts as none.
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

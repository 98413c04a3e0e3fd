import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { storable } from '../plain-text.ts'

/** A source of events, identified by its write key. */
export interface Source {
  name: string
  region: 'default' | 'eu'
  /** Maximum number of requests per second; undefined if there is no limit. */
  rate: number | undefined
  /** Names of the destinations that get the events of this source; undefined for all. */
  destinations: readonly string[] | undefined
}

/** Returns the SHA-256 hash of a secret. */
export function sha256(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** Finds the source of a write key. Only hashes are compared. */
export class Sources {
  readonly #config: Config
  readonly #configured: ReadonlyArray<{ hash: Buffer; source: Source }> | undefined

  constructor(config: Config) {
    this.#config = config
    this.#configured = config.sources?.map((one) => ({
      hash:
        one.writeKeySha256 === undefined
          ? sha256(one.writeKey ?? '')
          : Buffer.from(one.writeKeySha256, 'hex'),
      source: {
        name: one.name,
        region: one.region ?? config.region,
        rate: one.rate ?? config.rate,
        destinations: one.destinations,
      },
    }))
  }

  /**
   * Returns the source that has this key; undefined if no source has it.
   *
   * Compares hashes in constant time, always with every source. So the time reveals neither a similar key nor the position of
   * the matching one. If no sources are configured, any key is accepted, and the key is the name of the source.
   */
  find(writeKey: string): Source | undefined {
    if (this.#configured === undefined) {
      const { region, rate } = this.#config
      return { name: storable(writeKey), region, rate, destinations: undefined }
    }
    const hash = sha256(writeKey)
    let found: Source | undefined
    for (const one of this.#configured) {
      if (timingSafeEqual(one.hash, hash)) found = one.source
    }
    return found
  }
}

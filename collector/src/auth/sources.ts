import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { storable } from '../plain-text.ts'

/** A source of events, identified by its write key. */
export interface Source {
  name: string
  region: 'default' | 'eu'
  /** Requests a second; undefined = no limit. */
  rate: number | undefined
  /** Names of its enabled destinations; undefined = all. */
  destinations: readonly string[] | undefined
}

/** SHA-256 of a secret. */
export function sha256(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

/** Finds the source of a write key. Compares only hashes. */
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
   * The source that has this key; undefined when none has.
   *
   * Compares hashes in constant time, always with every source, so that the time reveals neither a near miss nor the position
   * of a match. Without configured sources, any key is accepted, and is the name of its source.
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

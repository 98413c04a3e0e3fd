import { createHash, timingSafeEqual } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { storable } from '../plain-text.ts'

export interface Source {
  name: string
  region: 'default' | 'eu'
  /** Requests per second; undefined if there is no limit. */
  rate: number | undefined
  /** Names of the destinations that get the events of this source; undefined for all. */
  destinations: readonly string[] | undefined
}

/** As for names in the config. */
const MAX_NAME_CHARACTERS = 200

export function sha256(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

export class Sources {
  readonly #config: Config
  readonly #configured: ReadonlyArray<{ hashes: readonly Buffer[]; source: Source }> | undefined

  constructor(config: Config) {
    this.#config = config
    this.#configured = config.sources?.map((one) => ({
      hashes: [
        ...[one.writeKey ?? []].flat().map(sha256),
        ...[one.writeKeySha256 ?? []].flat().map((hash) => Buffer.from(hash, 'hex')),
      ],
      source: {
        name: one.name,
        region: one.region ?? config.region,
        rate: one.rate ?? config.rate,
        destinations: one.destinations,
      },
    }))
  }

  /**
   * Compares hashes in constant time, always with every source. So the time reveals neither a similar key nor the position of
   * the matching one. If no sources are configured, any key of at most 200 characters is accepted, and is the name of its source.
   */
  find(writeKey: string): Source | undefined {
    if (this.#configured === undefined) {
      // Each event that is read has the name of its source.
      if (writeKey.length > MAX_NAME_CHARACTERS) return undefined
      const { region, rate } = this.#config
      return { name: storable(writeKey), region, rate, destinations: undefined }
    }
    const hash = sha256(writeKey)
    let found: Source | undefined
    for (const one of this.#configured) {
      for (const own of one.hashes) if (timingSafeEqual(own, hash)) found = one.source
    }
    return found
  }
}

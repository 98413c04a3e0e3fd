import { createHash } from 'node:crypto'
import type { Config } from '../config/schema.ts'
import { storable } from '../plain-text.ts'

export interface Source {
  name: string
  rate: number | undefined
  destinations: readonly string[] | undefined
}

/** As for names in the config. */
const MAX_NAME_CHARACTERS = 200

export function sha256(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

export class Sources {
  readonly #config: Config
  /** By the hash of each write key, so that the time of a look-up reveals nothing about a key. */
  readonly #byHash = new Map<string, Source>()

  constructor(config: Config) {
    this.#config = config
    for (const {
      name,
      rate = config.rate,
      writeKey = [],
      writeKeySha256 = [],
      destinations,
    } of config.sources ?? []) {
      const hashes = [...[writeKey].flat().map(sha256), ...[writeKeySha256].flat()]
      for (const hash of hashes) this.#byHash.set(hash, { name, rate, destinations })
    }
  }

  /** If no sources are configured, any key of at most 200 characters is accepted, and is the name of its source. */
  find(writeKey: string): Source | undefined {
    if (this.#config.sources !== undefined) return this.#byHash.get(sha256(writeKey))
    // Each event that is read has the name of its source.
    if (writeKey.length > MAX_NAME_CHARACTERS) return undefined
    return { name: storable(writeKey), rate: this.#config.rate, destinations: undefined }
  }
}

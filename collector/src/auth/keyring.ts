import type { Clock } from '../clock.ts'
import { limited } from '../limited.ts'
import type { KeptText, TokenKeyStore } from '../store/ports.ts'
import { type KeptKeys, newKeys, readKeys, type TokenKeys, usableKeys } from './key-set.ts'

/** Longest time for which this process accepts a token after another process has revoked it. */
const FRESH_MS = 1000
/** A cached copy older than this is renewed in the background, so that no caller has to wait. */
const RENEW_MS = 500
/** If the keys cannot be read, the last ones are used for this long. Revoked tokens are accepted in this time. */
const USABLE_MS = 10_000
const READ_WAIT_MS = 2000
/** Pause after a failed read. */
const REST_MS = 1000
/** An attempt to write fails only if the keys have been changed in the meantime. */
const MAX_ATTEMPTS = 20

interface Known {
  keys: TokenKeys
  version: string
  /** When the read began. */
  readAtMs: number
}

/** All processes share the keys; this process has a cached copy. */
export class Keyring {
  readonly #store: TokenKeyStore
  readonly #clock: Clock
  #known: Known | undefined
  #reading: Promise<void> | undefined
  #changing: Promise<void> | undefined
  #changes = 0
  #failure: { cause: unknown; atMs: number } | undefined

  constructor(store: TokenKeyStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * Returns keys that are at most one second old. If they cannot be read, returns the last known keys, at most ten seconds old.
   *
   * @throws when the keys cannot be read, and the last known ones are too old.
   */
  async current(): Promise<TokenKeys> {
    await this.#changing?.catch(() => {})
    const nowMs = this.#clock.monotonic()
    const known = this.#known
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : nowMs - known.readAtMs
    if (known !== undefined && ageMs <= FRESH_MS) {
      if (ageMs >= RENEW_MS && this.#reading === undefined) this.#read().catch(() => {})
      return known.keys
    }
    try {
      return await this.readSince(nowMs - FRESH_MS)
    } catch (cause) {
      if (known === undefined || ageMs >= USABLE_MS) throw cause
      return known.keys
    }
  }

  /**
   * Returns keys that were read at this time or later. The time is monotonic, in milliseconds.
   *
   * @throws when the keys cannot be read.
   */
  async readSince(timeMs: number): Promise<TokenKeys> {
    for (;;) {
      const known = this.#known
      if (known !== undefined && known.readAtMs >= timeMs) return known.keys
      await this.#read()
    }
  }

  /**
   * Revokes the key, and with it all tokens: in this process at once, in other processes within a second after the promise
   * resolves.
   */
  revoke(): Promise<void> {
    const before = this.#changing
    const changing = (async () => {
      await before?.catch(() => {})
      await this.#change((text) => newKeys(readableKeys(text)))
    })()
    this.#changing = changing
    const ended = () => {
      if (this.#changing === changing) this.#changing = undefined
    }
    changing.then(ended, ended)
    return changing
  }

  #read(): Promise<void> {
    const { cause, atMs } = this.#failure ?? {}
    if (atMs !== undefined && this.#clock.monotonic() - atMs < REST_MS) return Promise.reject(cause)
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readOnce(): Promise<void> {
    const readAtMs = this.#clock.monotonic()
    const changes = this.#changes
    try {
      const found = await this.#inTime(this.#store.read())
      this.#failure = undefined
      // This process has changed the keys since the read began, so its own keys are newer.
      if (changes !== this.#changes) return
      if (found === undefined) {
        await this.#change((text) => (text === undefined ? newKeys() : undefined))
      } else this.#learn(found, readAtMs)
    } catch (cause) {
      this.#failure = { cause, atMs: this.#clock.monotonic() }
      throw cause
    }
  }

  #learn({ text, version }: KeptText, readAtMs: number): void {
    const isKnown = this.#known?.version === version
    const keys = isKnown ? (this.#known as Known).keys : usableKeys(readKeys(text))
    this.#known = { keys, version, readAtMs }
  }

  /** Changes the stored keys, unless `next` returns undefined. */
  async #change(next: (kept: string | undefined) => KeptKeys | undefined): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const readAtMs = this.#clock.monotonic()
      const found = await this.#inTime(this.#store.read())
      const wanted = next(found?.text)
      if (wanted === undefined) {
        if (found !== undefined) this.#learn(found, readAtMs)
        return
      }
      const text = JSON.stringify(wanted)
      const version = await this.#inTime(this.#store.replace(found?.version, text))
      if (version === undefined) continue
      this.#changes++
      this.#learn({ text, version }, readAtMs)
      return
    }
    throw new Error('other processes keep changing the keys of tokens')
  }

  #inTime<T>(work: Promise<T>): Promise<T> {
    return limited(work, READ_WAIT_MS, this.#clock, () =>
      Promise.reject(new Error(`no response within ${READ_WAIT_MS / 1000} s`)),
    )
  }
}

/** Returns undefined for keys that cannot be read: a revocation replaces them, and so repairs the store. */
function readableKeys(text: string | undefined): KeptKeys | undefined {
  try {
    return text === undefined ? undefined : readKeys(text)
  } catch {
    return undefined
  }
}

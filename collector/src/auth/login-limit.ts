import { createHash } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { networkOf } from '../network-address.ts'

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000
const MAX_KNOWN = 1000

/**
 * Limits failed logins by address (IPv6: by network, see `networkOf`), so that nobody can guess keys at full speed.
 *
 * The last credentials that have worked (up to `MAX_KNOWN`) are not limited: on a developer's machine, all clients have the
 * same address, and one misconfigured client must not lock out the others.
 */
export class LoginLimit {
  readonly #maxFailures: number
  readonly #clock: Clock
  readonly #failures = new Map<string, { count: number; startMs: number }>()
  /** Hashes of the credentials that have worked. */
  readonly #known = new Set<string>()
  /** The networks from which a key in the body of a request has worked. */
  readonly #inBodies = new Set<string>()

  constructor(maxFailuresPerMinute: number, clock: Clock) {
    this.#maxFailures = maxFailuresPerMinute
    this.#clock = clock
  }

  /** Returns undefined if the address may try these credentials now. */
  waitSeconds(address: string, credential: string): number | undefined {
    if (this.#failures.size === 0) return undefined
    const network = networkOf(address)
    const failed = this.#failures.get(network)
    if (failed === undefined || failed.count < this.#maxFailures) return undefined
    const leftMs = failed.startMs + WINDOW_MS - this.#clock.monotonic()
    if (leftMs <= 0) {
      this.#failures.delete(network)
      return undefined
    }
    return this.#known.has(fingerprint(credential)) ? undefined : Math.ceil(leftMs / 1000)
  }

  /** As `waitSeconds`, for credentials that would be in a body that is not read yet. */
  waitSecondsBeforeBody(address: string): number | undefined {
    const seconds = this.waitSeconds(address, '')
    return this.#inBodies.has(networkOf(address)) ? undefined : seconds
  }

  failed(address: string): void {
    const nowMs = this.#clock.monotonic()
    const network = networkOf(address)
    const failed = this.#failures.get(network)
    if (failed !== undefined && nowMs - failed.startMs < WINDOW_MS) {
      failed.count++
      return
    }
    // Deleted first, so that the entries are in the order in which they started.
    this.#failures.delete(network)
    if (this.#failures.size >= MAX_ADDRESSES) forgetOldest(this.#failures)
    this.#failures.set(network, { count: 1, startMs: nowMs })
  }

  succeeded(credential: string): void {
    renew(this.#known, fingerprint(credential), MAX_KNOWN)
  }

  succeededInBody(address: string): void {
    renew(this.#inBodies, networkOf(address), MAX_ADDRESSES)
  }
}

function renew(entries: Set<string>, entry: string, limit: number): void {
  if (!entries.delete(entry) && entries.size >= limit) forgetOldest(entries)
  entries.add(entry)
}

function forgetOldest(entries: Map<string, unknown> | Set<string>): void {
  for (const oldest of entries.keys()) {
    entries.delete(oldest)
    return
  }
}

function fingerprint(credential: string): string {
  return createHash('sha256').update(credential).digest('base64')
}

/** Upper bounds of the histogram of write durations, in seconds. */
export const APPEND_BUCKETS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const

export interface Labelled<Name extends string> {
  labels: Record<Name, string>
  count: number
}

export interface Durations {
  /**
   * For each bound of `APPEND_BUCKETS`, the number of writes that took at most this long. The last element counts all writes.
   */
  cumulative: number[]
  sumSeconds: number
  count: number
}

/**
 * Counting is cheap enough for every request. The code that formats the counts is loaded only when they are requested.
 *
 * No label has a value that a caller chooses, so the number of counts is limited.
 */
export class Meter {
  readonly #requests = new Map<string, Labelled<'path' | 'status'>>()
  readonly #events = new Map<string, Labelled<'status' | 'reason'>>()
  readonly #logged = new Map<string, Labelled<'status' | 'reason'>>()
  readonly #appends = { ok: newHistogram(), failed: newHistogram() }
  #openRequests = 0

  began(): void {
    this.#openRequests++
  }

  /** Status 0 means that there was no response. */
  ended(path: string, status: number): void {
    this.#openRequests--
    const labels = { path: knownPath(path), status: status === 0 ? 'none' : String(status) }
    increase(this.#requests, `${labels.path} ${labels.status}`, labels)
  }

  broken(status: number): void {
    increase(this.#requests, `${OTHER_PATH} ${status}`, { path: OTHER_PATH, status: String(status) })
  }

  recorded(status: 'accepted' | 'rejected', reason: string | null): void {
    increase(this.#events, reason ?? '', { status, reason: reason ?? '' })
  }

  /** Counts an event that another process will write from the log to the store. */
  logged(reason: string | null): void {
    const status = reason === null ? 'accepted' : 'rejected'
    increase(this.#logged, reason ?? '', { status, reason: reason ?? '' })
  }

  appended(durationMs: number, isKept: boolean): void {
    const { perBucket, sums } = this.#appends[isKept ? 'ok' : 'failed']
    const seconds = durationMs / 1000
    const bucket = APPEND_BUCKETS.findIndex((bound) => seconds <= bound)
    const index = bucket < 0 ? APPEND_BUCKETS.length : bucket
    perBucket[index] = (perBucket[index] ?? 0) + 1
    sums.seconds += seconds
  }

  get openRequests(): number {
    return this.#openRequests
  }

  get requests(): Iterable<Labelled<'path' | 'status'>> {
    return this.#requests.values()
  }

  get events(): Iterable<Labelled<'status' | 'reason'>> {
    return this.#events.values()
  }

  get loggedEvents(): Iterable<Labelled<'status' | 'reason'>> {
    return this.#logged.values()
  }

  appends(result: 'ok' | 'failed'): Durations {
    const { perBucket, sums } = this.#appends[result]
    let count = 0
    const cumulative = perBucket.map((inBucket) => {
      count += inBucket
      return count
    })
    return { cumulative, sumSeconds: sums.seconds, count }
  }
}

function newHistogram() {
  return { perBucket: new Array<number>(APPEND_BUCKETS.length + 1).fill(0), sums: { seconds: 0 } }
}

function increase<Name extends string>(
  counts: Map<string, Labelled<Name>>,
  key: string,
  labels: Record<Name, string>,
): void {
  const known = counts.get(key)
  if (known === undefined) counts.set(key, { labels, count: 1 })
  else known.count++
}

const OTHER_PATH = 'other'
const KINDS_AND_BATCH = 'identify|track|page|screen|group|alias|batch'
const SAME = new RegExp(`^/(?:v1/(?:${KINDS_AND_BATCH}|[aibgpst]|m)|token|login|healthz|readyz|metrics)$`)

const PAGE = /^\/(?:[\w-]+\.(?:html|css|js|svg|ico))?$/

/** Returns the path as a label: one of about twenty values. */
function knownPath(path: string): string {
  if (SAME.test(path)) return path
  if (PAGE.test(path)) return 'page'
  if (path.startsWith('/api/')) return '/api'
  if (/^\/v1\/projects\/[^/]+\/settings$/.test(path)) return '/v1/projects'
  return OTHER_PATH
}

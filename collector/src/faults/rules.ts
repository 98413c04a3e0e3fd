import type { Clock } from '../clock.ts'

/** A fault that the collector injects: the next requests get it instead of the usual response. */
export interface FaultOptions {
  /** Status code of the response, 200 to 599. */
  status?: number | undefined
  /** Headers of the response, for example `{ 'retry-after': '2' }`. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Body of the response. Default: a JSON object with the error, or `{"success":true}` if the status is below 400. */
  body?: string | undefined
  /** Milliseconds to wait before the response. Without `status`, `hang` and `reset`, the request is then handled as usual. */
  delay?: number | undefined
  /** Whether the request gets no response at all. */
  hang?: boolean | undefined
  /** Whether the connection ends with a TCP reset. */
  reset?: boolean | undefined
  /** Milliseconds for which requests get the fault, at most 86,400,000; default: until it is removed or used up. */
  forMs?: number | undefined
  /** Number of requests that get the fault; default 1; with `forMs`, all. Null or Infinity means all. */
  times?: number | null | undefined
  /** Probability that a matching request gets the fault, from 0 to 1; default 1. */
  chance?: number | undefined
  /** Limits the fault to requests to this path, for example `/v1/batch` or `/token`. */
  path?: string | undefined
  /** Limits the fault to requests of the source with this name. */
  source?: string | undefined
}

/** An active fault, as `/api/faults` returns it. */
export interface FaultRule {
  id: string
  status: number | null
  headers: Readonly<Record<string, string>>
  body: string | null
  delay: number
  hang: boolean
  reset: boolean
  /** The end of `forMs`, ISO-8601; null if there is none. */
  until: string | null
  /** Null if the number of requests is not limited. */
  times: number | null
  /** Number of requests that will still get the fault; null if it is not limited. */
  remaining: number | null
  chance: number
  path: string | null
  source: string | null
}

/** The active faults, as `GET /api/faults` returns them. */
export interface FaultState {
  rules: FaultRule[]
  /** Number of requests that have got a fault so far. */
  injected: number
}

const MAX_RULES = 1000
const MAX_DELAY_MS = 600_000
const MAX_DURATION_MS = 86_400_000

/** A fault that cannot be added. The message describes the problem. */
export class FaultError extends Error {
  override readonly name = 'FaultError'
}

/** The active faults in their order. A request gets the first fault that matches. */
export class Faults {
  readonly #clock: Clock
  #rules: FaultRule[] = []
  #lastId = 0
  #injected = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get active(): number {
    return this.#current.length
  }

  /** Without those whose time is over. */
  get #current(): FaultRule[] {
    if (this.#rules.some(({ until }) => until !== null)) {
      const now = new Date(this.#clock.now()).toISOString()
      this.#rules = this.#rules.filter(({ until }) => until === null || until > now)
    }
    return this.#rules
  }

  state(): FaultState {
    return { rules: this.#current.map((rule) => ({ ...rule })), injected: this.#injected }
  }

  /** @throws FaultError when a value cannot be used. */
  add(options: FaultOptions): FaultRule {
    if (this.#current.length >= MAX_RULES) throw new FaultError(`at most ${MAX_RULES} faults can be set`)
    const rule = readRule(String(this.#lastId + 1), options, this.#clock.now())
    this.#lastId++
    this.#rules.push(rule)
    return { ...rule }
  }

  /** Returns false if no fault has this id. */
  remove(id: string): boolean {
    const before = this.#rules.length
    this.#rules = this.#rules.filter((rule) => rule.id !== id)
    return this.#rules.length < before
  }

  clear(): void {
    this.#rules = []
  }

  /**
   * Returns the fault that the request gets, and counts the request; undefined if it gets none.
   *
   * @param sourceOf Called only when a fault is limited to a source.
   */
  take(path: string, sourceOf: () => string | undefined): FaultRule | undefined {
    const rule = this.#current.find((one) => this.#applies(one, path, sourceOf))
    if (rule === undefined) return undefined
    this.#injected++
    if (rule.remaining !== null) {
      rule.remaining--
      if (rule.remaining <= 0) this.remove(rule.id)
    }
    return rule
  }

  #applies(rule: FaultRule, path: string, sourceOf: () => string | undefined): boolean {
    if (rule.path !== null && rule.path !== path) return false
    if (rule.source !== null && rule.source !== sourceOf()) return false
    return rule.chance >= 1 || this.#clock.random() < rule.chance
  }
}

const NAMES: ReadonlySet<string> = new Set([
  ...['status', 'headers', 'body', 'delay', 'hang', 'reset', 'forMs', 'times', 'chance', 'path', 'source'],
])

/** Null means the default, as in the responses of the API; but in `times`, it means that there is no limit. */
function readRule(id: string, options: FaultOptions, nowMs: number): FaultRule {
  const unknown = Object.keys(options).find((name) => !NAMES.has(name))
  if (unknown !== undefined) throw new FaultError(`${unknown}: there is no such field`)
  const status = numberOf(options, 'status', 200, 599, true)
  const delay = numberOf(options, 'delay', 0, MAX_DELAY_MS) ?? 0
  const forMs = numberOf(options, 'forMs', 1, MAX_DURATION_MS)
  const isEndless = options.times === null || options.times === Number.POSITIVE_INFINITY
  const times = isEndless ? null : numberOf(options, 'times', 1, Number.MAX_SAFE_INTEGER, true)
  const [hang, reset] = [options.hang ?? false, options.reset ?? false]
  const kinds = [status !== null, hang, reset].filter(Boolean).length
  if (kinds === 0 && delay === 0) throw new FaultError('a fault needs one of status, delay, hang and reset')
  if (kinds > 1) throw new FaultError('status, hang and reset exclude each other')
  const most = isEndless ? null : (times ?? (forMs === null ? 1 : null))
  return {
    ...{ id, status, headers: headersOf(options), body: textOf(options, 'body'), delay, hang, reset },
    until: forMs === null ? null : new Date(nowMs + forMs).toISOString(),
    ...{ times: most, remaining: most, chance: numberOf(options, 'chance', 0, 1) ?? 1 },
    ...{ path: textOf(options, 'path'), source: textOf(options, 'source') },
  }
}

function headersOf({ headers }: FaultOptions): Record<string, string> {
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value)] as const)
  for (const [name, value] of given) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new FaultError(`headers: ${JSON.stringify(name)} cannot be sent`)
  }
  return Object.fromEntries(given)
}

function textOf(options: FaultOptions, name: 'body' | 'path' | 'source'): string | null {
  const value: unknown = options[name] ?? null
  if (value === null || typeof value === 'string') return value
  throw new FaultError(`${name}: expected a text`)
}

function numberOf(
  options: FaultOptions,
  name: 'status' | 'delay' | 'forMs' | 'times' | 'chance',
  min: number,
  max: number,
  isWhole = false,
): number | null {
  const value: unknown = options[name] ?? null
  if (value === null) return null
  if (typeof value === 'number' && value >= min && value <= max && (!isWhole || Number.isInteger(value)))
    return value
  throw new FaultError(
    `${name}: expected ${isWhole ? 'a whole' : 'a'} number from ${min} to ${max}, got ${value}`,
  )
}

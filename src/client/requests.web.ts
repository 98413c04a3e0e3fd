import type { FailureCode } from '../errors/errors.ts'
import type { PluginLoader } from '../pipeline/plugin-loader.ts'
import type { Registration } from '../pipeline/registration.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Intake } from './intake.ts'
import type { Stats } from './ledger.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Status } from './monitor.ts'
import type { OwnParts, Parts } from './parts.ts'
import type { Registry } from './registry.ts'
import type { PerRequest, RequestsOptions } from './requests.ts'
import type { Verification } from './verify.ts'
import type { Warnings } from './warnings.ts'

/** Cloudflare Workers take timers, sockets and promises away with the request that they were made for. */
export const perRequest: PerRequest = (options) =>
  options.jsRuntime === 'cloudflare-worker' ? new Requests(options) : options.create()

/** Something that the runtime lets no other request read. */
interface Mark {
  readonly readyState: unknown
}

/** The parts that serve one request. */
interface Own {
  readonly parts: OwnParts
  /** `undefined` until a request has claimed it: what is made outside of all requests belongs to the first one. */
  mark: Mark | undefined
  /** When its timer is due; `undefined` while it waits for nothing. */
  dueMs: number | undefined
}

/** How often a request that waits for something shows that it is there, with a timer of its own: soon, and then at times. */
const FIRST_BEAT_MS = 10
const BEAT_MS = 100
/**
 * Timers fire in the order in which they are due, however late they are. A request is gone whose timer has not fired when one
 * has that was due this much later.
 */
const LOST_MS = 1_000
/** Longer than a plugin may take to load. */
const LOAD_MS = 6_000
/** Where no timer fires for this long while requests come, all that were due before were taken away. */
const QUIET_MS = 10_000
/** The most that the time between two requests counts for that: the runtime may have stood still. */
const MAX_GAP_MS = 1_000
const LOST = 'the runtime ended the request that was to send it; hand analytics.flush() to waitUntil'

/**
 * Parts for each request, so that nothing with a timer, a socket or a promise is used by two of them. One that the runtime
 * ends stops nobody else: its events fail with `shutdown_timeout` when another notices.
 *
 * @see docs/spec.md, section 8.3
 */
class Requests implements Parts {
  readonly #options: RequestsOptions
  readonly #clock: Clock
  readonly #plugins: PluginLoader
  /** When each plugin that is loading began to. */
  readonly #loading = new Map<Registration, number>()
  /** The requests that wait for something, and the latest one. */
  readonly #all = new Set<Own>()
  #latest: Own
  #switchedAtMs = 0
  /** For how long requests have come and no timer has fired. */
  #quietMs = 0
  /** Of those that are no longer among them. */
  #former: readonly Stats[] = []

  constructor(options: RequestsOptions) {
    const { clock, createPlugins } = options
    this.#options = options
    this.#clock = clock
    this.#plugins = createPlugins(withTimersAllowed(clock), {
      onChange: () => {
        for (const { parts } of this.#all) parts.pipeline.arrange()
      },
      // The events of others go on with their own next timer.
      onReady: () => this.#own.parts.pipeline.release(),
      onRegister: (added) => {
        const { pipeline, intake } = this.#own.parts
        if (added.state === 'loading') this.#loading.set(added, clock.monotonic())
        pipeline.join(added)
        intake.passThrough(added)
      },
    })
    this.#latest = this.#open(undefined)
  }

  get intake(): Intake {
    return this.#busy.intake
  }

  get lifecycle(): Lifecycle {
    return this.#busy.lifecycle
  }

  get registry(): Registry {
    return this.#busy.registry
  }

  get warnings(): Warnings {
    return this.#latest.parts.warnings
  }

  get pending(): number {
    let pending = 0
    for (const { parts } of this.#all) pending += parts.pending
    return pending
  }

  stats(): Stats {
    return sum([...[...this.#all].map(({ parts }) => parts.stats()), ...this.#former])
  }

  status(): Status {
    const all = [...this.#all].map(({ parts }) => parts.status())
    const add = (name: 'queued' | 'queuedBytes' | 'inFlight'): number =>
      all.reduce((total, status) => total + status[name], 0)
    const pauses = all.flatMap(({ pausedUntil }) =>
      pausedUntil === undefined ? [] : [pausedUntil.getTime()],
    )
    return {
      ...this.#latest.parts.status(),
      queued: add('queued'),
      queuedBytes: add('queuedBytes'),
      inFlight: add('inFlight'),
      pausedUntil: pauses.length === 0 ? undefined : new Date(Math.max(...pauses)),
    }
  }

  verify(): Promise<Verification> {
    return this.#own.parts.verify()
  }

  /** Those of the code that runs now, which is about to wait for something. */
  get #busy(): OwnParts {
    const own = this.#own
    if (own.dueMs === undefined && own.mark !== undefined) this.#beat(own, FIRST_BEAT_MS)
    return own.parts
  }

  /** Those of the code that runs now. */
  get #own(): Own {
    const latest = this.#latest
    if (latest.mark === undefined) latest.mark = createMark()
    if (isMine(latest)) return latest
    const nowMs = this.#clock.monotonic()
    const mine = this.#find(nowMs) ?? this.#open(createMark())
    this.#latest = mine
    // A client that one request has closed is closed for all.
    if (latest.parts.intake.isClosed) mine.parts.intake.isClosed = true
    this.#drop(latest)
    this.#quietMs += Math.min(nowMs - this.#switchedAtMs, MAX_GAP_MS)
    this.#switchedAtMs = nowMs
    if (this.#quietMs >= QUIET_MS) this.#giveUpDueBefore(nowMs - QUIET_MS)
    return mine
  }

  /** Reading the mark of another request costs some 20 microseconds: only those that wait, and seem to be there, are asked. */
  #find(nowMs: number): Own | undefined {
    for (const own of this.#all) {
      this.#drop(own)
      const { dueMs = nowMs } = own
      if (nowMs < dueMs + LOST_MS && own !== this.#latest && isMine(own)) return own
    }
    return undefined
  }

  #open(mark: Mark | undefined): Own {
    const own: Own = { parts: this.#options.create(this.#plugins), mark, dueMs: undefined }
    this.#all.add(own)
    return own
  }

  /** Its own timer also keeps the runtime from ending a request for waiting for nothing. */
  #beat(own: Own, ms: number): void {
    const dueMs = this.#clock.monotonic() + ms
    own.dueMs = dueMs
    this.#clock.setTimer(() => {
      own.dueMs = undefined
      if (own.parts.ledger.isIdle) this.#drop(own)
      else this.#beat(own, BEAT_MS)
      this.#quietMs = 0
      this.#giveUpDueBefore(dueMs - LOST_MS)
      own.parts.pipeline.release()
    }, ms)
  }

  /** Gives up what ended requests have left behind. */
  #giveUpDueBefore(timeMs: number): void {
    for (const [one, sinceMs] of this.#loading) {
      if (one.state === 'loading' && sinceMs >= timeMs - LOAD_MS) continue
      this.#loading.delete(one)
      if (one.state === 'loading') this.#plugins.giveUp(one)
    }
    for (const own of [...this.#all]) {
      if (own.dueMs === undefined || own.dueMs >= timeMs) continue
      own.dueMs = undefined
      own.parts.lifecycle.abandon(LOST, true)
      this.#drop(own)
    }
  }

  /** Keeps nothing but the counts of a request that waits for nothing. */
  #drop(own: Own): void {
    if (own === this.#latest || !own.parts.ledger.isIdle || !this.#all.delete(own)) return
    this.#former = [sum([own.parts.stats(), ...this.#former])]
  }
}

/**
 * Sets no timer outside of all requests, where the runtime refuses it: plugins that are registered there load without a time
 * limit, and without anything that takes time.
 */
function withTimersAllowed(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    random: () => clock.random(),
    hold: () => clock.hold(),
    setTimer(run, ms) {
      try {
        return clock.setTimer(run, ms)
      } catch {
        return () => {}
      }
    },
  }
}

function createMark(): Mark | undefined {
  try {
    const { WebSocketPair } = globalThis as { WebSocketPair?: new () => readonly Mark[] }
    return WebSocketPair === undefined ? undefined : new WebSocketPair()[0]
  } catch {
    // The code runs outside of all requests.
    return undefined
  }
}

/** Whether the code that runs now belongs to this request. Without marks, there is one. */
function isMine({ mark }: Own): boolean {
  try {
    return mark === undefined || mark.readyState !== undefined
  } catch {
    return false
  }
}

function sum(all: readonly Stats[]): Stats {
  const add = (read: (stats: Stats) => number): number => all.reduce((total, stats) => total + read(stats), 0)
  const codes = Object.keys(all[0]?.failures ?? {}) as FailureCode[]
  const failures = codes.map((code) => [code, add((stats) => stats.failures[code])])
  return {
    accepted: add(({ accepted }) => accepted),
    delivered: add(({ delivered }) => delivered),
    failed: add(({ failed }) => failed),
    deferred: add(({ deferred }) => deferred),
    pending: add(({ pending }) => pending),
    recovered: add(({ recovered }) => recovered),
    failures: Object.fromEntries(failures) as Stats['failures'],
  }
}

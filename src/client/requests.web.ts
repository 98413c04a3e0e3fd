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

/**
 * Makes one set of parts for each incoming request on Cloudflare Workers, where timers, sockets and promises end with the
 * request that made them. Makes one set on other runtimes.
 */
export const perRequest: PerRequest = (options) =>
  options.jsRuntime === 'cloudflare-worker' ? new Requests(options) : options.create()

/** An object that belongs to one request: when code of another request reads its property, the runtime throws. */
interface Mark {
  readonly readyState: unknown
}

/** The set of parts of one incoming request. */
interface Own {
  readonly parts: OwnParts
  /** `undefined` until a request claims the set: a set made outside of all requests goes to the first request. */
  mark: Mark | undefined
  /** Whether the heartbeat timer is set. */
  isBeating: boolean
  /** The value of `#steps` at the last heartbeat of this request. */
  lastStep: number
}

/** A request that waits for something has a timer, its heartbeat: first after `FIRST_BEAT_MS`, then every `BEAT_MS`. */
const FIRST_BEAT_MS = 10
const BEAT_MS = 100
/**
 * A request counts as ended when it had no heartbeat while the other requests made this many steps. Steps are counted instead
 * of time: on a busy machine, a timer may fire many seconds late, even after timers that were due much later.
 */
const STEPS_UNTIL_LOST = 1_000
/**
 * A heartbeat counts as this many steps, but only if its timer was set after the previous heartbeat that counted: after a few
 * such heartbeats, every timer that was due earlier has fired. A new request counts as one step, because hundreds may arrive
 * before the runtime runs its timers.
 */
const STEPS_OF_BEAT = 20
/**
 * To find the request that the running code belongs to, the marks of the requests are read, the latest first. Each read takes
 * 20 microseconds. So of the requests without a heartbeat in the last `STEPS_UNTIL_SILENT` steps, at most `MAX_SILENT_ASKED`
 * are tried.
 */
const STEPS_UNTIL_SILENT = 250
const MAX_SILENT_ASKED = 100
/** A plugin that is still loading after this time is given up. Longer than `PLUGIN_TIMEOUT_MS`. */
const LOAD_MS = 10_000
const LOST = 'the runtime ended the request that was to send it; hand analytics.flush() to waitUntil'

/**
 * One set of parts for each incoming request, so that no two requests share a timer, a socket or a promise. When the runtime
 * ends a request, the other requests go on. The events of the ended request fail with `shutdown_timeout` once another request
 * notices its end.
 *
 * @see docs/spec.md, section 6
 */
class Requests implements Parts {
  readonly #options: RequestsOptions
  readonly #clock: Clock
  readonly #plugins: PluginLoader
  /** When each loading plugin began to load, on the monotonic clock. */
  readonly #loading = new Map<Registration, number>()
  /** The sets of all requests that wait for something, and the latest set. */
  readonly #all = new Set<Own>()
  #latest: Own
  #steps = 0
  /** The value of `#steps` after the last heartbeat that counted. */
  #lastBeat = 0
  /** The counts of the requests that were dropped, added up. */
  #former: readonly Stats[] = []

  constructor(options: RequestsOptions) {
    const { clock, createPlugins } = options
    this.#options = options
    this.#clock = clock
    this.#plugins = createPlugins(withTimersAllowed(clock), {
      onChange: () => {
        for (const { parts } of this.#all) parts.pipeline.arrange()
      },
      // The events of other requests go on at the next heartbeat of their own request.
      onReady: () => this.#own.parts.pipeline.release(),
      onRegister: (added) => {
        const { pipeline, intake } = this.#own.parts
        this.#loading.set(added, clock.monotonic())
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

  /** The parts of the request that runs now and is about to wait for something. */
  get #busy(): OwnParts {
    const own = this.#own
    if (!own.isBeating && own.mark !== undefined) this.#beat(own, FIRST_BEAT_MS)
    return own.parts
  }

  /** The set of the request that runs now; a new set for a new request. */
  get #own(): Own {
    const latest = this.#latest
    if (latest.mark === undefined) latest.mark = createMark()
    if (isMine(latest)) return latest
    const found = this.#find()
    const mine = found ?? this.#open(createMark())
    this.#latest = mine
    // If one request has closed the client, it is closed for all requests.
    if (latest.parts.intake.isClosed) mine.parts.intake.isClosed = true
    this.#drop(latest)
    if (found === undefined) this.#pass(1)
    return mine
  }

  #find(): Own | undefined {
    let silent = 0
    for (const own of [...this.#all].reverse()) {
      this.#drop(own)
      if (own === this.#latest) continue
      if (this.#steps - own.lastStep > STEPS_UNTIL_SILENT && silent++ >= MAX_SILENT_ASKED) continue
      if (isMine(own)) return own
    }
    return undefined
  }

  #open(mark: Mark | undefined): Own {
    const parts = this.#options.create(this.#plugins)
    const own: Own = { parts, mark, isBeating: false, lastStep: this.#steps }
    this.#all.add(own)
    return own
  }

  /** The timer also keeps the runtime from ending a request that seems to wait for nothing. */
  #beat(own: Own, ms: number): void {
    const setAt = this.#steps
    own.isBeating = true
    own.lastStep = setAt
    this.#clock.setTimer(() => {
      own.isBeating = false
      // Not counted if set before the last counted heartbeat, because these two may fire together.
      if (setAt >= this.#lastBeat) {
        this.#pass(STEPS_OF_BEAT)
        this.#lastBeat = this.#steps
      }
      if (own.parts.ledger.isIdle) this.#drop(own)
      // The timer may be set already: `#pass` may have called a callback that tracked an event.
      else if (!own.isBeating) this.#beat(own, BEAT_MS)
      own.parts.pipeline.release()
    }, ms)
  }

  /** Adds steps. Gives up the events of requests that have ended, and plugins that do not load. */
  #pass(steps: number): void {
    this.#steps += steps
    for (const [one, sinceMs] of this.#loading) {
      if (one.state === 'loading' && this.#clock.monotonic() - sinceMs < LOAD_MS) continue
      this.#loading.delete(one)
      if (one.state === 'loading') this.#plugins.giveUp(one)
    }
    for (const own of [...this.#all]) {
      if (!own.isBeating || this.#steps - own.lastStep <= STEPS_UNTIL_LOST) continue
      own.isBeating = false
      own.parts.lifecycle.abandon(LOST, true)
      this.#drop(own)
    }
  }

  /** Drops the set of a request that waits for nothing, and keeps only its counts. */
  #drop(own: Own): void {
    if (own === this.#latest || !own.parts.ledger.isIdle || !this.#all.delete(own)) return
    this.#former = [sum([own.parts.stats(), ...this.#former])]
  }
}

/** Outside of all requests, the runtime refuses timers: plugins that are registered there load without a time limit. */
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

/** Whether the code that runs now belongs to this request. */
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

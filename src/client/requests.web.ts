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

/** On Cloudflare Workers, timers, sockets and promises end with the incoming request that made them. */
export const perRequest: PerRequest = (options) =>
  options.jsRuntime === 'cloudflare-worker' ? new Requests(options) : options.create()

/** An object that only the request that made it can read: the runtime refuses others. */
interface Mark {
  readonly readyState: unknown
}

/** The parts that serve one request. */
interface Own {
  readonly parts: OwnParts
  /** `undefined` until a request claims it: parts made outside of all requests go to the first one. */
  mark: Mark | undefined
  /** Whether its heartbeat is set: it waits for something. */
  isBeating: boolean
  /** The steps of all requests at its last heartbeat. */
  lastStep: number
}

/**
 * Time until the first heartbeat of a request that waits for something, and between the next ones. Each request has a separate
 * timer.
 */
const FIRST_BEAT_MS = 10
const BEAT_MS = 100
/**
 * A request without a heartbeat for this many steps of the others has ended. Steps are counted, not timed: on a busy machine a
 * timer may be many seconds late, and fire after one that was due much later.
 */
const STEPS_UNTIL_LOST = 1_000
/**
 * Steps of a heartbeat that was set after the last one that counted: every timer due earlier fires within a few such ones.
 * A new request is only one step: hundreds may arrive before the runtime looks after its timers.
 */
const STEPS_OF_BEAT = 20
/**
 * To find the request of the running code, those whose last heartbeat is at most this many steps ago are asked, and at most
 * this many of the others, the latest first. Each takes 20 microseconds.
 */
const STEPS_UNTIL_SILENT = 250
const MAX_SILENT_ASKED = 100
/** Longer than a plugin may take to load. */
const LOAD_MS = 10_000
const LOST = 'the runtime ended the request that was to send it; hand analytics.flush() to waitUntil'

/**
 * One set of parts for each incoming request, so that no two requests share a timer, a socket or a promise. When the runtime
 * ends a request, the others go on; its events fail with `shutdown_timeout` once another request notices.
 *
 * @see docs/spec.md, section 8.3
 */
class Requests implements Parts {
  readonly #options: RequestsOptions
  readonly #clock: Clock
  readonly #plugins: PluginLoader
  /** When each plugin began to load; without those found to be loaded. */
  readonly #loading = new Map<Registration, number>()
  /** The requests that wait for something, and the latest one. */
  readonly #all = new Set<Own>()
  #latest: Own
  #steps = 0
  /** The value of `#steps` after the last heartbeat that counted. */
  #lastBeat = 0
  /** Totals of the requests that were dropped. */
  #former: readonly Stats[] = []

  constructor(options: RequestsOptions) {
    const { clock, createPlugins } = options
    this.#options = options
    this.#clock = clock
    this.#plugins = createPlugins(withTimersAllowed(clock), {
      onChange: () => {
        for (const { parts } of this.#all) parts.pipeline.arrange()
      },
      // Events of other requests go on with the next timer of their own request.
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

  /** The set of the request that runs now. */
  get #own(): Own {
    const latest = this.#latest
    if (latest.mark === undefined) latest.mark = createMark()
    if (isMine(latest)) return latest
    const found = this.#find()
    const mine = found ?? this.#open(createMark())
    this.#latest = mine
    // A client closed by one request is closed for all.
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
      // A heartbeat that was set before the last one that counted may fire together with it, and does not count.
      if (setAt >= this.#lastBeat) {
        this.#pass(STEPS_OF_BEAT)
        this.#lastBeat = this.#steps
      }
      if (own.parts.ledger.isIdle) this.#drop(own)
      // A callback of a request that was given up may have tracked an event here, which sets the timer.
      else if (!own.isBeating) this.#beat(own, BEAT_MS)
      own.parts.pipeline.release()
    }, ms)
  }

  /** Counts steps, and gives up the plugins and events of requests that have ended. */
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

  /** Drops a request that waits for nothing, and keeps only its counts. */
  #drop(own: Own): void {
    if (own === this.#latest || !own.parts.ledger.isIdle || !this.#all.delete(own)) return
    this.#former = [sum([own.parts.stats(), ...this.#former])]
  }
}

/**
 * Outside of all requests the runtime refuses timers: plugins registered there load without a time limit.
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

/** Whether the code that runs now belongs to this request. Always so where the runtime has no marks. */
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

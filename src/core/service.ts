import type { TokenState } from '../auth/authorization.ts'
import type { Verdict } from '../http/verdict.ts'
import { backoffMs } from '../http/waits.ts'

/** Keeps requests back until a time. */
export interface Gate {
  /** How often it was shut since the service last answered; 0: it is open. */
  waits: number
  shutMs: number
  /** How long, if the response said so; otherwise as long as the backoff. */
  statedMs: number | undefined
  /** The random factor of the backoff, from its upper half. */
  draw: number
}

/**
 * What a client knows of its service: plain data, which the clients of one `perRequest` share by reference. All times are on
 * the monotonic clock.
 *
 * @see docs/spec.md, section 8, The rule
 */
export interface Service {
  /** Events that one request may carry. A success doubles it, a failure halves it. */
  limit: number
  /** Bytes of messages that one request may carry: less after a 413. */
  mostBytes: number
  /** Failures in a row. */
  failures: number
  /** When the last failed requests of the row were sent: as many as one who waits is told after. */
  failedAtMs: number[]
  /** Requests that were accepted, ever, and when the last one was. */
  successes: number
  lastSuccessMs: number
  /** Events refused alone, in a row, with nothing accepted in between. */
  refusals: number
  /** Whether the last answer was a 429. */
  isLimited: boolean
  gate: Gate
  /** Counts how often the doubt has grown: a request of an earlier epoch was sent before, and does not count again. */
  epoch: number
  /** What the service said last, when it did not accept. */
  problem: Verdict | undefined
  /** Since when an outage, or wrong settings, have been reported. */
  downSinceMs: number | undefined
}

export function createService(limit: number, mostBytes: number): Service {
  return {
    limit,
    mostBytes,
    failures: 0,
    failedAtMs: [],
    successes: 0,
    lastSuccessMs: Number.NEGATIVE_INFINITY,
    refusals: 0,
    isLimited: false,
    gate: createGate(),
    epoch: 0,
    problem: undefined,
    downSinceMs: undefined,
  }
}

export function createGate(): Gate {
  return { waits: 0, shutMs: 0, statedMs: undefined, draw: 1 }
}

/**
 * Whether it is open if the service is up, so that one request at a time goes first. There are three states: no doubt; a first
 * failure, after which one other event is asked at once (the gate is open); and a shut gate, after which one request is sent.
 */
export function isInDoubt({ failures, isLimited }: Service): boolean {
  return failures > 0 || isLimited
}

/** Whether the service has never accepted anything and says that the settings are wrong. */
export function isMisset(service: Service): boolean {
  return service.successes === 0 && isOfSettings(service.problem)
}

/** Whether the service refuses the key or the address; or everything, which comes to the same. */
export function isOfSettings(problem: Verdict | undefined): boolean {
  return problem?.word === 'settings' || problem?.word === 'refused'
}

/** Asked anew each time, so that a gate that was shut for a minute opens sooner when somebody begins to wait. */
export function opensAtMs({ waits, shutMs, statedMs, draw }: Gate, isSomebodyWaiting: boolean): number {
  if (waits === 0) return Number.NEGATIVE_INFINITY
  return shutMs + (statedMs ?? backoffMs(waits, isSomebodyWaiting) * draw)
}

/** What the clients of one `perRequest` share. */
export interface Shared {
  /** `undefined` before the first client. */
  service: Service | undefined
  readonly tokens: { known?: TokenState }
  /** The warnings that were told, each once for all clients. */
  readonly told: Set<string>
}

export function createShared(): Shared {
  return { service: undefined, tokens: {}, told: new Set() }
}

import type { Analytics } from '../analytics.ts'
import type { FailureCode } from '../errors/errors.ts'
import type { EventName, Kind } from '../message/types.ts'
import { type AsymmetricMatcher, isAsymmetric, isPart, type Matches } from './differences.ts'
import { recordOf } from './marked.ts'
import type { FieldsOf, MessageOfKind, TrackMessage } from './messages.ts'
import { describe, reportNearest, show } from './report.ts'
import type { TestClient } from './test-client.ts'

/** The result of a matcher, in the form of Jest and Vitest. */
export interface MatcherResult {
  /** Whether the assertion holds, without `not`. */
  pass: boolean
  /** Returns the error message for a failed assertion. */
  message(): string
}

/** The `this` of a matcher in Jest and Vitest. It is absent when a matcher is called directly. */
interface Runner {
  readonly equals?: (one: unknown, other: unknown, testers: readonly unknown[]) => boolean
  readonly customTesters?: readonly unknown[]
  readonly utils?: { readonly iterableEquality?: unknown; readonly subsetEquality?: unknown }
}

function matchesOf({ equals, customTesters = [], utils }: Runner): Matches {
  const { iterableEquality, subsetEquality } = utils ?? {}
  if (equals === undefined || subsetEquality === undefined) return isPart
  const testers = [...customTesters, iterableEquality, subsetEquality]
  return (actual, expected) => equals(actual, expected, testers)
}

interface Wanted {
  /** Of a message of one kind. */
  readonly part: { readonly type: Kind }
  /** Must match the whole message too. */
  readonly whole?: AsymmetricMatcher
}

interface Search {
  readonly wanted: Wanted
  readonly call: string
  readonly candidates: readonly object[]
  readonly fate: 'sent' | 'failed'
  /** Events that may become candidates. */
  readonly undecided: number
}

function find(
  runner: unknown,
  { wanted, call: calls, candidates, fate, undecided }: Search,
  times?: number,
): MatcherResult {
  const matches = matchesOf((runner ?? {}) as Runner)
  const { part, whole } = wanted
  const call = whole === undefined ? calls : `${calls} that matches ${show(whole)}`
  const found = candidates.filter(
    (message) => matches(message, part) && (whole === undefined || matches(message, whole)),
  )
  const report = (headline: string): string => reportNearest(headline, part, candidates, { matches, fate })
  // Throws, so that the assertion also fails with `not`.
  if (undecided > 0 && found.length <= (times ?? 0)) {
    const who = undecided === 1 ? '1 event has' : `${undecided} events have`
    const lack = fate === 'sent' ? 'neither been sent nor dropped' : 'no outcome'
    const remedy = 'write `await client.analytics.flush()` before the assertion'
    throw new Error(
      report(`cannot decide yet: ${who} ${lack}; ${remedy}

looked for ${call}`),
    )
  }
  const count = found.length === 1 ? 'once' : `${found.length} times`
  if (times === undefined ? found.length === 0 : found.length !== times) {
    const headline =
      times === undefined ? `expected ${call}` : `expected ${call} ${times} times; it was there ${count}`
    return { pass: false, message: () => report(headline) }
  }
  const lines = found.slice(0, 3).map((message) => `  ${describe(message)}`)
  const headline =
    times === undefined
      ? `expected no ${call}; it was there ${count}:`
      : `expected ${call} any other number of times than ${times}:`
  return { pass: true, message: () => [headline, ...lines].join('\n') }
}

function findSent(
  runner: unknown,
  received: unknown,
  wanted: Wanted,
  call: string,
  times?: number,
): MatcherResult {
  const record = recordOf(received)
  const { messages: candidates } = record
  return find(runner, { wanted, call, candidates, fate: 'sent', undecided: record.undecided() }, times)
}

function sentOfKind(type: Kind) {
  return function toHaveSent(this: unknown, received: unknown, partial?: unknown): MatcherResult {
    return findSent(this, received, wantedOf(type, partial), `${type} call`)
  }
}

function trackOf(event: unknown, partial: unknown): [wanted: Wanted, call: string] {
  if (typeof event !== 'string' && !isAsymmetric(event)) {
    throw new TypeError(
      'expected the name of an event, or a matcher such as expect.stringMatching(/^Order /)',
    )
  }
  const name = typeof event === 'string' ? `'${event}'` : show(event)
  const { part, ...rest } = wantedOf('track', partial)
  return [{ ...rest, part: Object.assign(part, { event }) }, `track call of ${name}`]
}

/** Refuses a `partial` that is not an object: a number, for example, would match every message. */
function wantedOf(type: Kind, partial: unknown = {}): Wanted {
  if (isAsymmetric(partial)) return { part: { type }, whole: partial }
  if (typeof partial !== 'object' || partial === null || Array.isArray(partial)) {
    throw new TypeError('expected a part of a message, such as { userId: "ada", properties: { total: 42 } }')
  }
  // `type` comes first in the output, and cannot be overridden by `partial`.
  return { part: Object.assign({ type }, partial, { type }) }
}

/**
 * Matchers for `expect.extend` of Jest and Vitest. They take a test client, its `analytics`, or a list of messages, and pass
 * when at least one message matches. The types are included for the global `expect`; for that of `@jest/globals`, declare:
 * `declare module 'expect' { interface Matchers<R extends void | Promise<void>, T> extends TrackpostMatchers<R, T> {} }`.
 *
 * @example
 * expect.extend(matchers)
 * expect(client).toHaveTracked('Order Completed', { userId: 'ada', properties: { total: 42.5 } })
 */
export const matchers = {
  /** Finds a `track` message with this name and the values in `partial`. */
  toHaveTracked(this: unknown, received: unknown, event: unknown, partial?: unknown): MatcherResult {
    return findSent(this, received, ...trackOf(event, partial))
  },
  /** Finds exactly `times` `track` messages with this name and the values in `partial`. */
  toHaveTrackedTimes(
    this: unknown,
    received: unknown,
    event: unknown,
    times: number,
    partial?: unknown,
  ): MatcherResult {
    if (!Number.isInteger(times) || times < 0)
      throw new TypeError('expected how many times: an integer from 0 on')
    return findSent(this, received, ...trackOf(event, partial), times)
  },
  /** Finds an `identify` message with the values in `partial`. */
  toHaveIdentified: sentOfKind('identify'),
  /** Finds a `page` message with the values in `partial`. */
  toHavePaged: sentOfKind('page'),
  /** Finds a `screen` message with the values in `partial`. */
  toHaveScreened: sentOfKind('screen'),
  /** Finds a `group` message with the values in `partial`. */
  toHaveGrouped: sentOfKind('group'),
  /** Finds an `alias` message with the values in `partial`. */
  toHaveAliased: sentOfKind('alias'),
  /** Finds a `track` event with this name that failed, with the `code` and the other values in `partial`. */
  toHaveFailed(this: unknown, received: unknown, event: unknown, partial?: unknown): MatcherResult {
    const { failed, pending } = recordOf(received)
    if (failed === undefined)
      throw new TypeError('expected a test client or its analytics; see createTestClient()')
    const [wanted, call] = trackOf(event, partial)
    const candidates = failed()
    return find(this, { wanted, call: `failed ${call}`, candidates, fate: 'failed', undecided: pending() })
  },
}

/** The map of events, the user traits and the group traits, from the type of the argument of `expect`. */
type MapsOf<Received> =
  Received extends TestClient<infer Events, infer User, infer Group>
    ? [Events, User, Group]
    : Received extends Analytics<infer Events, infer User, infer Group>
      ? [Events, User, Group]
      : // biome-ignore lint/suspicious/noExplicitAny: a list of messages may be of any client
        [any, any, any]

type PartOfKind<Received, Type extends Kind> =
  | FieldsOf<Omit<MessageOfKind<Type, MapsOf<Received>[0], MapsOf<Received>[1], MapsOf<Received>[2]>, 'type'>>
  | AsymmetricMatcher

type PartOfTrack<Received, Name extends EventName<MapsOf<Received>[0]>> = FieldsOf<
  Omit<TrackMessage<MapsOf<Received>[0], Name>, 'type' | 'event'>
>

/** The types of the matchers on `expect(...)`, which depend on the map of events of the client. */
export interface TrackpostMatchers<Result = void, Received = unknown> {
  /**
   * A `track` message with this name was sent. While an event is still inside a plugin, the assertion may fail, also with `not`: write
   * `await analytics.flush()` before it.
   *
   * @param partial The values that the message must have. They, or all of it, may be asymmetric matchers.
   */
  toHaveTracked<Name extends EventName<MapsOf<Received>[0]>>(
    event: Name | AsymmetricMatcher,
    partial?: PartOfTrack<Received, Name> | AsymmetricMatcher,
  ): Result
  /** Exactly `times` such messages were sent, at least 0. */
  toHaveTrackedTimes<Name extends EventName<MapsOf<Received>[0]>>(
    event: Name | AsymmetricMatcher,
    times: number,
    partial?: PartOfTrack<Received, Name> | AsymmetricMatcher,
  ): Result
  /** An `identify` message with the values in `partial` was sent. */
  toHaveIdentified(partial?: PartOfKind<Received, 'identify'>): Result
  /** A `page` message with the values in `partial` was sent. */
  toHavePaged(partial?: PartOfKind<Received, 'page'>): Result
  /** A `screen` message with the values in `partial` was sent. */
  toHaveScreened(partial?: PartOfKind<Received, 'screen'>): Result
  /** A `group` message with the values in `partial` was sent. */
  toHaveGrouped(partial?: PartOfKind<Received, 'group'>): Result
  /** An `alias` message with the values in `partial` was sent. */
  toHaveAliased(partial?: PartOfKind<Received, 'alias'>): Result
  /**
   * A `track` event with this name failed. While an event has no outcome, the assertion may fail, also with `not`: write
   * `await analytics.flush()` before it.
   *
   * @param partial The `code` of the failure, and the values that the message must have, as for `toHaveTracked`.
   */
  toHaveFailed<Name extends EventName<MapsOf<Received>[0]>>(
    event: Name | AsymmetricMatcher,
    partial?: (PartOfTrack<Received, Name> & { code?: FailureCode | AsymmetricMatcher }) | AsymmetricMatcher,
  ): Result
}

declare global {
  // The `expect` of Vitest also has the matchers in this namespace.
  namespace jest {
    interface Matchers<R, T> extends TrackpostMatchers<R, T> {}
  }
}

import type { Analytics } from '../analytics.ts'
import type { EventName, Kind } from '../message/types.ts'
import { type AsymmetricMatcher, differences, type Equals, isAsymmetric } from './differences.ts'
import { receivedOf } from './marked.ts'
import type { FieldsOf, MessageOfKind, TrackMessage } from './messages.ts'
import { type Diff, describe, reportNearest, show } from './report.ts'
import type { TestClient } from './test-client.ts'

/** The result of a matcher, in the form of Jest and Vitest. */
export interface MatcherResult {
  /** Whether a message was found. */
  pass: boolean
  /** The message when the assertion fails. */
  message(): string
}

/** The `this` that Jest and Vitest give a matcher. A matcher that is called directly has none. */
interface Runner {
  readonly equals?: (one: unknown, other: unknown, testers?: unknown) => boolean
  readonly customTesters?: unknown
  readonly utils?: { readonly diff?: Diff }
}

/** A message, or a part of one, of a kind. */
interface Wanted {
  readonly type: Kind
}

function find(
  runner: unknown,
  received: unknown,
  wanted: Wanted,
  call: string,
  times?: number,
): MatcherResult {
  const { equals, customTesters, utils } = (runner ?? {}) as Runner
  const isEqual: Equals = (actual, expected) => equals?.(actual, expected, customTesters) === true
  const { messages, undecided } = receivedOf(received)
  const found = messages.filter((message) => differences(wanted, message, isEqual).length === 0)
  const report = (headline: string): string =>
    reportNearest(headline, wanted, messages, { equals: isEqual, diff: utils?.diff })
  // Neither result would be certain. Throws, so that the assertion also fails with `not`.
  if (undecided > 0 && found.length <= (times ?? 0)) {
    const who = undecided === 1 ? '1 event has' : `${undecided} events have`
    const remedy = 'write `await client.analytics.flush()` before the assertion'
    throw new Error(
      report(`cannot decide yet: ${who} neither been sent nor dropped; ${remedy}

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

/** The name of an event, or a matcher such as `expect.stringMatching(/^Order /)`. */
function trackOf(event: unknown, partial: unknown): [wanted: Wanted, call: string] {
  if (typeof event !== 'string' && !isAsymmetric(event)) {
    throw new TypeError(
      'expected the name of an event, or a matcher such as expect.stringMatching(/^Order /)',
    )
  }
  const name = typeof event === 'string' ? `'${event}'` : show(event)
  return [{ ...wantedOf('track', partial), event } as Wanted, `track call of ${name}`]
}

/** Refuses anything but an object: a text would match every message. */
function wantedOf(type: Kind, partial: unknown = {}): Wanted {
  if (typeof partial !== 'object' || partial === null || Array.isArray(partial)) {
    throw new TypeError('expected a part of a message, such as { userId: "ada", properties: { total: 42 } }')
  }
  // The type comes first in the output. It is the one of the matcher, whatever `partial` has.
  return Object.assign({ type }, partial, { type })
}

/**
 * Matchers for `expect.extend` of Jest and Vitest. They take a test client, its `analytics`, or a list of messages, and pass
 * when at least one message matches. Their types come with this module; for the `expect` of `@jest/globals`, declare them:
 * `declare module 'expect' { interface Matchers<R extends void | Promise<void>, T> extends TrackpostMatchers<R, T> {} }`.
 *
 * @example
 * expect.extend(matchers)
 * expect(client).toHaveTracked('Order Completed', { userId: 'ada', properties: { total: 42.5 } })
 */
export const matchers = {
  /** A `track` message of this name; `partial` says what else it must have. */
  toHaveTracked(this: unknown, received: unknown, event: unknown, partial?: unknown): MatcherResult {
    return find(this, received, ...trackOf(event, partial))
  },
  /** Exactly `times` `track` messages of this name; `partial` says what else they must have. */
  toHaveTrackedTimes(
    this: unknown,
    received: unknown,
    event: unknown,
    times: number,
    partial?: unknown,
  ): MatcherResult {
    if (!Number.isInteger(times) || times < 0)
      throw new TypeError('expected how many times: an integer from 0 on')
    return find(this, received, ...trackOf(event, partial), times)
  },
  /** An `identify` message; `partial` says what it must have. */
  toHaveIdentified(this: unknown, received: unknown, partial?: unknown): MatcherResult {
    return find(this, received, wantedOf('identify', partial), 'identify call')
  },
  /** A `page` message; `partial` says what it must have. */
  toHavePaged(this: unknown, received: unknown, partial?: unknown): MatcherResult {
    return find(this, received, wantedOf('page', partial), 'page call')
  },
  /** A `screen` message; `partial` says what it must have. */
  toHaveScreened(this: unknown, received: unknown, partial?: unknown): MatcherResult {
    return find(this, received, wantedOf('screen', partial), 'screen call')
  },
  /** A `group` message; `partial` says what it must have. */
  toHaveGrouped(this: unknown, received: unknown, partial?: unknown): MatcherResult {
    return find(this, received, wantedOf('group', partial), 'group call')
  },
  /** An `alias` message; `partial` says what it must have. */
  toHaveAliased(this: unknown, received: unknown, partial?: unknown): MatcherResult {
    return find(this, received, wantedOf('alias', partial), 'alias call')
  },
}

/** The map of events, the traits of users and those of groups, from the type of the argument of `expect`. */
type MapsOf<Received> =
  Received extends TestClient<infer Events, infer User, infer Group>
    ? [Events, User, Group]
    : Received extends Analytics<infer Events, infer User, infer Group>
      ? [Events, User, Group]
      : // biome-ignore lint/suspicious/noExplicitAny: a list of messages may be of any client
        [any, any, any]

type PartOfKind<Received, Type extends Kind> = FieldsOf<
  Omit<MessageOfKind<Type, MapsOf<Received>[0], MapsOf<Received>[1], MapsOf<Received>[2]>, 'type'>
>

type PartOfTrack<Received, Name extends EventName<MapsOf<Received>[0]>> = FieldsOf<
  Omit<TrackMessage<MapsOf<Received>[0], Name>, 'type' | 'event'>
>

/** The matchers as `expect(...)` has them, typed by the map of events of the client. */
export interface TrackpostMatchers<Result = void, Received = unknown> {
  /**
   * A `track` message of this name was sent. Fails, with `not` too, while an event is still inside a plugin: `await
   * analytics.flush()` first.
   *
   * @param event The name, or a matcher such as `expect.stringMatching(/^Order /)`.
   * @param partial What else it must have. Values may be asymmetric matchers.
   * @example
   * expect(client).toHaveTracked('Order Completed', { properties: { total: 42.5 } })
   */
  toHaveTracked<Name extends EventName<MapsOf<Received>[0]>>(
    event: Name | AsymmetricMatcher,
    partial?: PartOfTrack<Received, Name>,
  ): Result
  /**
   * Exactly `times` such `track` messages were sent.
   *
   * @param times From 0 on.
   * @example
   * expect(client).toHaveTrackedTimes('Order Completed', 1)
   */
  toHaveTrackedTimes<Name extends EventName<MapsOf<Received>[0]>>(
    event: Name | AsymmetricMatcher,
    times: number,
    partial?: PartOfTrack<Received, Name>,
  ): Result
  /** An `identify` message was sent that has what `partial` says. */
  toHaveIdentified(partial?: PartOfKind<Received, 'identify'>): Result
  /** A `page` message was sent that has what `partial` says. */
  toHavePaged(partial?: PartOfKind<Received, 'page'>): Result
  /** A `screen` message was sent that has what `partial` says. */
  toHaveScreened(partial?: PartOfKind<Received, 'screen'>): Result
  /** A `group` message was sent that has what `partial` says. */
  toHaveGrouped(partial?: PartOfKind<Received, 'group'>): Result
  /** An `alias` message was sent that has what `partial` says. */
  toHaveAliased(partial?: PartOfKind<Received, 'alias'>): Result
}

declare global {
  // The `expect` of Vitest has the matchers of this namespace too.
  namespace jest {
    interface Matchers<R, T> extends TrackpostMatchers<R, T> {}
  }
}

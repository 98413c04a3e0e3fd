import type { Analytics } from '../analytics.ts'
import type { EventName, Kind } from '../message/types.ts'
import { differences } from './differences.ts'
import { messagesOf } from './marked.ts'
import type { MessageOfKind, PartOf, TrackMessage } from './messages.ts'
import { describe, reportNearest } from './report.ts'
import type { TestClient } from './test-client.ts'

/** What a matcher comes to, as Jest and Vitest take it. */
export interface MatcherResult {
  /** Whether a message was found. */
  pass: boolean
  /** What the runner says when that is not what was expected. */
  message(): string
}

function find(received: unknown, type: Kind, expected: object, call: string): MatcherResult {
  const messages = messagesOf(received)
  const wanted = { type, ...expected }
  const found = messages.filter((message) => differences(wanted, message).length === 0)
  if (found.length === 0) {
    return { pass: false, message: () => reportNearest(`expected ${call}`, wanted, messages) }
  }
  const times = found.length === 1 ? 'once' : `${found.length} times`
  const lines = found.slice(0, 3).map((message) => `  ${describe(message)}`)
  return { pass: true, message: () => [`expected no ${call}; it was there ${times}:`, ...lines].join('\n') }
}

/** Checks a matcher's argument: a part of a message that was misspelt as text would match everything. */
function partOf(partial: unknown): object {
  if (partial === undefined) return {}
  if (typeof partial === 'object' && partial !== null && !Array.isArray(partial)) return partial
  throw new TypeError('expected a part of a message, such as { userId: "ada", properties: { total: 42 } }')
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
  toHaveTracked(received: unknown, event: string, partial?: unknown): MatcherResult {
    if (typeof event !== 'string') throw new TypeError('toHaveTracked: expected the name of an event')
    return find(received, 'track', { ...partOf(partial), event }, `track call of '${event}'`)
  },
  /** An `identify` message; `partial` says what it must have. */
  toHaveIdentified(received: unknown, partial?: unknown): MatcherResult {
    return find(received, 'identify', partOf(partial), 'identify call')
  },
  /** A `page` message; `partial` says what it must have. */
  toHavePaged(received: unknown, partial?: unknown): MatcherResult {
    return find(received, 'page', partOf(partial), 'page call')
  },
  /** A `screen` message; `partial` says what it must have. */
  toHaveScreened(received: unknown, partial?: unknown): MatcherResult {
    return find(received, 'screen', partOf(partial), 'screen call')
  },
  /** A `group` message; `partial` says what it must have. */
  toHaveGrouped(received: unknown, partial?: unknown): MatcherResult {
    return find(received, 'group', partOf(partial), 'group call')
  },
  /** An `alias` message; `partial` says what it must have. */
  toHaveAliased(received: unknown, partial?: unknown): MatcherResult {
    return find(received, 'alias', partOf(partial), 'alias call')
  },
}

/** The map of events, the traits of users and those of groups of what `expect` was given. */
type MapsOf<Received> =
  Received extends TestClient<infer Events, infer User, infer Group>
    ? [Events, User, Group]
    : Received extends Analytics<infer Events, infer User, infer Group>
      ? [Events, User, Group]
      : // biome-ignore lint/suspicious/noExplicitAny: a list of messages may be of any client
        [any, any, any]

type PartOfKind<Received, Type extends Kind> = PartOf<
  Omit<MessageOfKind<Type, MapsOf<Received>[0], MapsOf<Received>[1], MapsOf<Received>[2]>, 'type'>
>

/** The matchers as `expect(...)` has them, typed by the map of events of the client. */
export interface TrackpostMatchers<Result = void, Received = unknown> {
  /**
   * A `track` message of this name was sent.
   *
   * @param partial What else it must have. Values may be asymmetric matchers.
   * @example
   * expect(client).toHaveTracked('Order Completed', { properties: { total: 42.5 } })
   */
  toHaveTracked<Name extends EventName<MapsOf<Received>[0]>>(
    event: Name,
    partial?: PartOf<Omit<TrackMessage<MapsOf<Received>[0], Name>, 'type' | 'event'>>,
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

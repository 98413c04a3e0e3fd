import { Analytics } from '../analytics.ts'
import type { Seams } from '../core/create.ts'
import { type DeliveryError, type FailureCode, SettingsError } from '../errors/errors.ts'
import { describe, isRecord } from '../message/describe.ts'
import type { GroupTraits, UserTraits } from '../message/shapes.ts'
import type { AnyEvents, EventName, Kind } from '../message/types.ts'
import { systemClock } from '../runtime/clock.ts'
import type { AnalyticsSettings } from '../settings/settings.ts'
import { isPart } from './differences.ts'
import { EagerClock } from './eager-clock.ts'
import { markRecord } from './marked.ts'
import type {
  AnyFilter,
  KindFilter,
  MessageOfKind,
  TestMessage,
  TrackFilter,
  TrackMessage,
} from './messages.ts'
import { Recorder } from './recorder.ts'
import { reportNearest } from './report.ts'
import { type RequestFailure, Service } from './service.ts'
import { Waiters } from './waiters.ts'

/**
 * The settings of a test client: the settings of `Analytics`, but all optional. `httpClient`, `oauthSettings` and `spool` have
 * no effect, so that nothing leaves the process. Some defaults differ: `writeKey` is `test-write-key`, `strict` is `true`,
 * `maxRetries` is 3, as if you had set it, and `flushAt` is 1, so that each event gets its outcome at once.
 */
export type TestClientSettings = Partial<AnalyticsSettings>

/** Options of {@link TestClient.waitFor}. */
export interface WaitOptions {
  /** Longest wait, in milliseconds of real time. Default: 1,000. */
  timeout?: number | undefined
}

/** An event of a test client that failed. */
export interface TestFailure<Events = AnyEvents, User = UserTraits, Group = GroupTraits> {
  /** Why it failed. */
  readonly code: FailureCode
  /** The error that callbacks and `error` listeners get. */
  readonly error: DeliveryError
  /** The event, in the form of a message; absent when the arguments of the call were too malformed to make one. */
  readonly message?: TestMessage<Events, User, Group>
}

/** A client for tests, with the messages that it has received. */
export interface TestClient<Events = AnyEvents, User = UserTraits, Group = GroupTraits> {
  /** The real client, with a service in memory. Pass it to the code under test. */
  readonly analytics: Analytics<Events, User, Group>
  /**
   * The messages that would have been sent, oldest first. Always the same array. A message is there as soon as the call has
   * returned or, with plugins, after `await analytics.flush()`, unless a plugin drops it. That of an event that fails is removed.
   */
  readonly messages: readonly TestMessage<Events, User, Group>[]
  /** The events that failed, oldest first. Always the same array. */
  readonly failures: readonly TestFailure<Events, User, Group>[]
  /** All messages that match a part of a message, an asymmetric matcher for a whole message, or a function, oldest first. */
  find<Name extends EventName<Events>>(filter: TrackFilter<Events, Name>): TrackMessage<Events, Name>[]
  find<Type extends Kind>(
    filter: KindFilter<Type, Events, User, Group>,
  ): MessageOfKind<Type, Events, User, Group>[]
  find(filter: AnyFilter<Events, User, Group>): TestMessage<Events, User, Group>[]
  /** The first message that matches, also a later one. Rejects after `timeout`, with an error that shows the most similar messages. */
  waitFor<Name extends EventName<Events>>(
    filter: TrackFilter<Events, Name>,
    options?: WaitOptions,
  ): Promise<TrackMessage<Events, Name>>
  waitFor<Type extends Kind>(
    filter: KindFilter<Type, Events, User, Group>,
    options?: WaitOptions,
  ): Promise<MessageOfKind<Type, Events, User, Group>>
  waitFor(
    filter: AnyFilter<Events, User, Group>,
    options?: WaitOptions,
  ): Promise<TestMessage<Events, User, Group>>
  /** Removes all messages and failures, and what `failNext` has announced, for use between two tests that share a client. */
  clear(): void
  /**
   * Makes the next request fail. The client reacts as in production, but without waiting: a 503 is retried at once, and after
   * `maxRetries` retries the event fails.
   */
  failNext(failure?: RequestFailure): void
}

type Constructor = new (settings: AnalyticsSettings, seams: Seams) => Analytics<never, never, never>

/**
 * Makes a client for tests: the real client with its plugins, limits and retries, and a service in memory. It opens no
 * connections. Once all its events have their outcome, it has no timers.
 *
 * @throws SettingsError for invalid settings.
 * @example
 * const client = createTestClient()
 * await checkout(client.analytics)
 * expect(client.find({ event: 'Order Completed' })).toHaveLength(1)
 */
export function createTestClient<Events = AnyEvents, User = UserTraits, Group = GroupTraits>(
  settings: TestClientSettings = {},
): TestClient<Events, User, Group> {
  type Sent = TestMessage<Events, User, Group>
  if (!isRecord(settings))
    throw new SettingsError('settings', `expected an object, got ${describe(settings)}`)
  const service = new Service()
  const recorder = new Recorder<Sent>()
  const waiters = new Waiters<Sent>()
  const clock = new EagerClock(() => recorder.live > 0 && analytics.status.inFlight === 0)
  const analytics = new (Analytics as unknown as Constructor)(offline(settings, service), {
    clock,
    store: recorder,
    pluginClock: systemClock,
  }) as unknown as Analytics<Events, User, Group>
  const { messages } = recorder
  recorder.onMessage = () => waiters.look()
  const failures: TestFailure<Events, User, Group>[] = []
  // Not told to the log, as without a listener: the test asks for it.
  analytics.on('error', ({ reason, ctx }) => {
    const failure = { code: reason.code as FailureCode, error: reason }
    failures.push(
      ctx === undefined ? failure : { ...failure, message: JSON.parse(JSON.stringify(ctx.event)) },
    )
    if (ctx !== undefined) recorder.forget(ctx.event.messageId)
  })
  const client = {
    analytics,
    messages,
    failures,
    find: (filter: unknown) => messages.filter(predicateOf(filter)),
    waitFor: (filter: unknown, { timeout = 1_000 }: WaitOptions = {}) =>
      waiters.wait(messages, predicateOf(filter), timeout, () =>
        reportNearest(`no such message within ${timeout} ms`, filter, messages),
      ),
    clear() {
      messages.length = 0
      failures.length = 0
      service.recover()
    },
    failNext: (failure?: RequestFailure) => service.failNext(failure),
  }
  markRecord(analytics, {
    messages,
    failed: () => failures.map(({ code, message }) => ({ ...message, code })),
    // Pending events that are not in the store are inside plugins. A matcher whose result depends on such an event throws.
    undecided: () => Math.max(0, analytics.stats.pending - recorder.live),
    pending: () => analytics.stats.pending,
  })
  return client as unknown as TestClient<Events, User, Group>
}

function offline(settings: TestClientSettings, service: Service): AnalyticsSettings {
  // With `maxRetries`, an event fails in an outage. Otherwise, it would wait for twelve hours.
  const defaults = { writeKey: 'test-write-key', strict: true, flushAt: 1, maxRetries: 3 }
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  const { oauthSettings, spool, ...rest } = {
    ...defaults,
    ...Object.fromEntries(given),
  } as AnalyticsSettings & {
    spool?: unknown
  }
  return { ...rest, httpClient: service }
}

function predicateOf(filter: unknown): (message: unknown) => boolean {
  if (typeof filter === 'function') return (message) => Boolean(filter(message))
  if (typeof filter === 'object' && filter !== null) {
    return (message) => isPart(message, filter)
  }
  throw new TypeError('expected a filter: a part of a message, or a function')
}

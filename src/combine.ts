import type { FlushOptions } from './client/events.ts'
import type { FlushSummary } from './core/counts.ts'
import type { DeliveryError } from './errors/errors.ts'
import { describe } from './message/describe.ts'
import type { GroupTraits, UserTraits } from './message/shapes.ts'
import type { AnyEvents, Kind } from './message/types.ts'
import { KINDS } from './message/wire.ts'
import type { Callback, Context } from './pipeline/context.ts'
import type { Tracker } from './pipeline/tracker.ts'
import { platform } from './runtime/platform.node.ts'

/** A client that {@link combine} accepts: an `Analytics`, or another object with these methods. */
export interface CombinedClient<Events = AnyEvents, User = UserTraits, Group = GroupTraits>
  extends Tracker<Events, User, Group> {
  /** Like `analytics.flush()`. */
  flush(options?: FlushOptions): Promise<FlushSummary>
  /** Like `analytics.closeAndFlush()`. */
  closeAndFlush(options?: Pick<FlushOptions, 'timeout'>): Promise<FlushSummary>
}

/**
 * Combines several clients into one, for example to move from one service to another. Each call is made on every client, with
 * the same `messageId` and `timestamp`.
 *
 * A callback is called when all clients have an outcome. Its error is that of the first client, in the order of the arguments,
 * that could not deliver the event. Its context is that of the first client. `flush` and `closeAndFlush` add up the summaries
 * of the clients.
 *
 * @throws TypeError when there is no argument, or an argument is not a client.
 * @throws DeliveryError with the code `invalid`, from a call with bad arguments, when a client is `strict`. The clients before
 * that client have already accepted the call.
 * @example
 * const both = combine(new Analytics({ writeKey: oldKey }), new Analytics({ writeKey: newKey, host: newHost }))
 * both.track({ userId: 'ada', event: 'Signed Up' })
 * await both.closeAndFlush()
 */
export function combine<Events = AnyEvents, User = UserTraits, Group = GroupTraits>(
  ...clients: CombinedClient<Events, User, Group>[]
): CombinedClient<Events, User, Group> {
  if (clients.length === 0) throw new TypeError('combine: expected clients, got none')
  for (const client of clients) assertClient(client)
  const call = (kind: Kind, params: object, callback: Callback | undefined): void => {
    const shared = stamp(params)
    const callbackOf = typeof callback === 'function' ? join(clients.length, callback) : () => undefined
    clients.forEach((client, index) => {
      const method = client[kind] as (params: unknown, callback: Callback | undefined) => void
      method.call(client, shared, callbackOf(index))
    })
  }
  const sum = async (summaries: Promise<FlushSummary>[]): Promise<FlushSummary> => {
    const total = { delivered: 0, failed: 0, pending: 0 }
    let left = 0
    for (const { delivered, failed, pending, deferred = 0 } of await Promise.all(summaries)) {
      total.delivered += delivered
      total.failed += failed
      total.pending += pending
      left += deferred
    }
    return left === 0 ? total : { ...total, deferred: left }
  }
  return {
    identify: (params, callback) => call('identify', params, callback),
    track: (params, callback) => call('track', params, callback),
    page: (params, callback) => call('page', params, callback),
    screen: (params, callback) => call('screen', params, callback),
    group: (params, callback) => call('group', params, callback),
    alias: (params, callback) => call('alias', params, callback),
    flush: (options) => sum(clients.map((client) => client.flush(options))),
    closeAndFlush: (options) => sum(clients.map((client) => client.closeAndFlush(options))),
  }
}

/** Checked at once, because otherwise the first call would throw, or lose events. */
function assertClient(client: unknown): void {
  const methods = [...KINDS, 'flush', 'closeAndFlush']
  if (methods.every((name) => typeof (client as Record<string, unknown> | null)?.[name] === 'function'))
    return
  throw new TypeError(`combine: expected clients, each as a separate argument, got ${describe(client)}`)
}

/** All fields that the six calls accept. */
const FIELDS = [
  ...['userId', 'anonymousId', 'previousId', 'groupId', 'event', 'name', 'category', 'properties', 'traits'],
  ...['context', 'integrations', 'messageId', 'timestamp'],
]

/** Unreadable arguments stay as they are: each client then reports them. */
function stamp(params: object): object {
  try {
    if (typeof params !== 'object' || params === null || Array.isArray(params)) return params
    const stamped: Record<string, unknown> = { ...params }
    // The spread above leaves out inherited fields, such as the getters of a class.
    for (const name of FIELDS) {
      if (!(name in stamped) && name in params) stamped[name] = (params as Record<string, unknown>)[name]
    }
    stamped['messageId'] ??= platform.randomId()
    stamped['timestamp'] ??= new Date()
    return stamped
  } catch {
    return params
  }
}

/** Makes one callback for each client. `callback` is called when all of them have been called. */
function join(count: number, callback: Callback): (index: number) => Callback {
  const outcomes: { error: DeliveryError | undefined; ctx: Context | undefined }[] = []
  let left = count
  return (index) => (error, ctx) => {
    outcomes[index] = { error, ctx }
    left--
    if (left > 0) return undefined
    return callback(outcomes.find((outcome) => outcome.error !== undefined)?.error, outcomes[0]?.ctx)
  }
}

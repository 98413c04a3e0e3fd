import type { FlushOptions } from './client/events.ts'
import type { FlushSummary } from './client/ledger.ts'
import type { DeliveryError } from './errors/errors.ts'
import { describe } from './message/describe.ts'
import type { GroupTraits, UserTraits } from './message/shapes.ts'
import type { AnyEvents, Kind } from './message/types.ts'
import { KINDS } from './message/wire.ts'
import type { Callback, Context } from './pipeline/context.ts'
import type { Tracker } from './pipeline/tracker.ts'
import { platform } from './runtime/platform.node.ts'

/** A part of {@link combine}: a client, or anything that can record and flush. */
export interface CombinedClient<Events = AnyEvents, User = UserTraits, Group = GroupTraits>
  extends Tracker<Events, User, Group> {
  /** As `analytics.flush()`. */
  flush(options?: FlushOptions): Promise<FlushSummary>
  /** As `analytics.closeAndFlush()`. */
  closeAndFlush(options?: Pick<FlushOptions, 'timeout'>): Promise<FlushSummary>
}

/**
 * Several clients as one, for a move from one service to another: each call is made on every client, with the same `messageId`
 * and `timestamp`.
 *
 * A callback is called once all clients have an outcome: with the error of the first client, in the order given, that could not
 * deliver, and the context of the client given first. `flush` and `closeAndFlush` add the summaries up.
 *
 * @throws TypeError when there is no client, or an argument is not one.
 * @throws DeliveryError `invalid` from a call with bad arguments, when a client is `strict`; the clients before it have taken
 * the call.
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

/** Checks a client now: otherwise a mistake would throw, or lose events, at the first call. */
function assertClient(client: unknown): void {
  const methods = [...KINDS, 'flush', 'closeAndFlush']
  if (methods.every((name) => typeof (client as Record<string, unknown> | null)?.[name] === 'function'))
    return
  throw new TypeError(`combine: expected clients, each as a separate argument, got ${describe(client)}`)
}

/** The fields of all kinds. */
const FIELDS = [
  ...['userId', 'anonymousId', 'previousId', 'groupId', 'event', 'name', 'category', 'properties', 'traits'],
  ...['context', 'integrations', 'messageId', 'timestamp'],
]

/** Adds an id and a time to the event. Fields that cannot be read are left as they are: each client reports them. */
function stamp(params: object): object {
  try {
    if (typeof params !== 'object' || params === null || Array.isArray(params)) return params
    const stamped: Record<string, unknown> = { ...params }
    // A spread leaves out what a class inherits, such as its getters.
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

/** One callback for each client; the last one to be called calls `callback`. */
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

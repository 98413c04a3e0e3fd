import type { GroupTraits, UserTraits } from '../message/shapes.ts'
import type {
  AliasParams,
  AnyEvents,
  EventName,
  GroupParams,
  IdentifyParams,
  Identity,
  PageParams,
  ScreenParams,
  TrackParams,
} from '../message/types.ts'
import type { Callback, Context } from './context.ts'

/**
 * The six calls of a client. A call queues its event, which is delivered in the background; its `callback` is called once with the
 * outcome, after the call has returned. A test double can implement this interface too.
 *
 * @typeParam Events Maps event names to the types of their properties; `undefined` means no properties. Default: any names and
 * properties.
 * @typeParam User The traits of users. Default: the standard traits and any others.
 * @typeParam Group The traits of groups. Default: the standard traits and any others.
 * @typeParam Who The ids that a call must have.
 */
export interface Tracker<Events = AnyEvents, User = UserTraits, Group = GroupTraits, Who = Identity> {
  /**
   * Records who a user is.
   *
   * @throws DeliveryError with the code `invalid` for bad arguments, only when `strict` is set. So do the other calls.
   * @example
   * analytics.identify({ userId: 'ada', traits: { email: 'ada@example.com', plan: 'pro' } })
   */
  identify(params: IdentifyParams<User, Who>, callback?: Callback): void
  /**
   * Records an action of a user.
   *
   * @example
   * analytics.track({ userId: 'ada', event: 'Signed Up' }, (error, ctx) => {
   *   if (error) console.error(error.code, error.message)
   * })
   */
  track<Name extends EventName<Events>>(params: TrackParams<Events, Name, Who>, callback?: Callback): void
  /** Records a page view: `analytics.page({ anonymousId: 'v-17', name: 'Pricing' })`. */
  page(params: PageParams<Who>, callback?: Callback): void
  /** Records a view of a mobile screen: `analytics.screen({ userId: 'ada', name: 'Basket' })`. */
  screen(params: ScreenParams<Who>, callback?: Callback): void
  /** Records that a user belongs to a company or team: `analytics.group({ userId: 'ada', groupId: 'engines' })`. */
  group(params: GroupParams<Group, Who>, callback?: Callback): void
  /** Records that two identities are one user: `analytics.alias({ previousId: 'v-17', userId: 'ada' })`. */
  alias(params: AliasParams, callback?: Callback): void
}

/**
 * The six calls as promises. Their events are sent at the end of the turn of the event loop, together in one request, without
 * waiting for `flushAt` or `flushInterval`. A promise resolves to the context when its event is delivered, and rejects with a
 * `DeliveryError` when it is not. An unhandled rejection ends a Node.js process.
 *
 * @example
 * await analytics.promises.track({ userId: 'ada', event: 'Order Completed' })
 */
export interface TrackerPromises<Events = AnyEvents, User = UserTraits, Group = GroupTraits, Who = Identity> {
  /** Like `identify`, with the outcome of the event. */
  identify(params: IdentifyParams<User, Who>): Promise<Context>
  /** Like `track`, with the outcome of the event. */
  track<Name extends EventName<Events>>(params: TrackParams<Events, Name, Who>): Promise<Context>
  /** Like `page`, with the outcome of the event. */
  page(params: PageParams<Who>): Promise<Context>
  /** Like `screen`, with the outcome of the event. */
  screen(params: ScreenParams<Who>): Promise<Context>
  /** Like `group`, with the outcome of the event. */
  group(params: GroupParams<Group, Who>): Promise<Context>
  /** Like `alias`, with the outcome of the event. */
  alias(params: AliasParams): Promise<Context>
}

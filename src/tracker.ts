import type { DeliveryError } from './errors/errors.ts'
import type {
  AliasParams,
  GroupParams,
  IdentifyParams,
  PageParams,
  ScreenParams,
  TrackParams,
} from './message/types.ts'
import type { Context } from './pipeline/context.ts'

/**
 * Called once with the outcome of its event, as soon as it is known and never before the call has returned. A callback that
 * throws or rejects harms nobody: the failure is reported.
 *
 * @param error Why the event was not delivered; `undefined` when it was.
 * @param ctx The event; `undefined` when the call was too malformed to make one.
 */
export type Callback = (error: DeliveryError | undefined, ctx: Context | undefined) => unknown

/** The six calls: what a client can record, and anything that stands in for one. */
export interface Tracker {
  /**
   * Records who a user is. The event is queued when this returns; its delivery goes on in the background.
   *
   * @param callback Called once with the outcome, after this call has returned.
   * @throws DeliveryError `invalid` for bad arguments, only when `strict` is set.
   * @example
   * analytics.identify({ userId: 'ada', traits: { email: 'ada@example.com', plan: 'pro' } })
   */
  identify(params: IdentifyParams, callback?: Callback): void
  /**
   * Records an action of a user. The event is queued when this returns; its delivery goes on in the background.
   *
   * @param callback Called once with the outcome, after this call has returned.
   * @throws DeliveryError `invalid` for bad arguments, only when `strict` is set.
   * @example
   * analytics.track({ userId: 'ada', event: 'Signed Up' }, (error, ctx) => {
   *   if (error) console.error(error.code, error.message)
   * })
   */
  track(params: TrackParams, callback?: Callback): void
  /**
   * Records a page view. The event is queued when this returns; its delivery goes on in the background.
   *
   * @param callback Called once with the outcome, after this call has returned.
   * @throws DeliveryError `invalid` for bad arguments, only when `strict` is set.
   * @example
   * analytics.page({ anonymousId: 'v-17', name: 'Pricing', properties: { url: 'https://shop.example/pricing' } })
   */
  page(params: PageParams, callback?: Callback): void
  /**
   * Records a view of a mobile screen. The event is queued when this returns; its delivery goes on in the background.
   *
   * @param callback Called once with the outcome, after this call has returned.
   * @throws DeliveryError `invalid` for bad arguments, only when `strict` is set.
   * @example
   * analytics.screen({ userId: 'ada', name: 'Basket' })
   */
  screen(params: ScreenParams, callback?: Callback): void
  /**
   * Records that a user belongs to a company or team. The event is queued when this returns; its delivery goes on in the
   * background.
   *
   * @param callback Called once with the outcome, after this call has returned.
   * @throws DeliveryError `invalid` for bad arguments, only when `strict` is set.
   * @example
   * analytics.group({ userId: 'ada', groupId: 'analytical-engines', traits: { employees: 2 } })
   */
  group(params: GroupParams, callback?: Callback): void
  /**
   * Records that two identities are one user. The event is queued when this returns; its delivery goes on in the
   * background.
   *
   * @param callback Called once with the outcome, after this call has returned.
   * @throws DeliveryError `invalid` for bad arguments, only when `strict` is set.
   * @example
   * analytics.alias({ previousId: 'v-17', userId: 'ada' })
   */
  alias(params: AliasParams, callback?: Callback): void
}

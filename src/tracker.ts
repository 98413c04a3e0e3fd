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
 * Called once with the outcome of its event.
 *
 * @param error Why the event was not delivered; `undefined` when it was.
 * @param ctx The event; `undefined` when the call was too malformed to make one.
 */
export type Callback = (error: DeliveryError | undefined, ctx: Context | undefined) => unknown

/** The six calls: what a client, and whatever stands for one, can be asked to record. */
export interface Tracker {
  /** Ties a user to traits. */
  identify(params: IdentifyParams, callback?: Callback): void
  /** Records an action. */
  track(params: TrackParams, callback?: Callback): void
  /** Records a page view. */
  page(params: PageParams, callback?: Callback): void
  /** Records a view of a mobile screen. */
  screen(params: ScreenParams, callback?: Callback): void
  /** Puts a user into a company or team. */
  group(params: GroupParams, callback?: Callback): void
  /** Ties one identity to another. */
  alias(params: AliasParams, callback?: Callback): void
}

import type { DeliveryError } from '../errors/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JsRuntime } from '../runtime/detect.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Backlog } from './backlog.ts'
import type { Delivery } from './delivery.ts'
import type { Holder } from './store.ts'

/** What sends: one delivery, or one for each request. */
export type Courier<Entry extends Holder> = Pick<
  Delivery<Entry>,
  'flush' | 'abandon' | 'inFlight' | 'pausedMs' | 'waiting'
>

/** Takes the outcome of each event, while its message is still stored. */
export interface OutcomeTaker<Entry> {
  settle(entry: Entry, error: DeliveryError | undefined, attempts: number): void
}

/** Told for how long no request is sent. */
export type OnPause = (waitMs: number) => void

export interface LanesOptions<Entry extends Holder> {
  readonly settings: Pick<
    ResolvedSettings,
    'flushAt' | 'flushInterval' | 'maxQueueSize' | 'httpRequestTimeout'
  >
  /** What waits. */
  readonly backlog: Backlog<Entry>
  readonly maxMessagesBytes: number
  readonly clock: Clock
  readonly outcomes: OutcomeTaker<Entry>
  readonly onPause: OnPause
  createBacklog(): Backlog<Entry>
  createDelivery(backlog: Backlog<Entry>, outcomes: OutcomeTaker<Entry>, onPause: OnPause): Delivery<Entry>
}

/** Sends in lanes where the runtime needs them; `undefined` where one delivery does for all. */
export type OpenLanes = <Entry extends Holder>(
  jsRuntime: JsRuntime,
  options: LanesOptions<Entry>,
) => Courier<Entry> | undefined

import type { DeliveryError } from '../errors/errors.ts'
import type { Item } from '../line/item.ts'
import type { Line } from '../line/line.ts'
import type { Clock } from '../runtime/clock.ts'
import type { JsRuntime } from '../runtime/detect.ts'
import type { ResolvedSettings } from '../settings/resolve.ts'
import type { Delivery } from './delivery.ts'

/** What sends: one delivery, or one for each request. */
export type Courier = Pick<
  Delivery,
  'abandon' | 'await' | 'flush' | 'inFlight' | 'pausedMs' | 'trouble' | 'waiting'
>

/** Takes the outcome of each event, while its message is still stored. */
export interface OutcomeTaker {
  settle(item: Item, error: DeliveryError | undefined): void
}

/** Told for how long no request is sent. */
export type OnPause = (waitMs: number) => void

export interface LanesOptions {
  readonly settings: Pick<
    ResolvedSettings,
    'flushAt' | 'flushInterval' | 'maxQueueSize' | 'httpRequestTimeout'
  >
  /** What waits. */
  readonly line: Line
  readonly maxMessagesBytes: number
  readonly clock: Clock
  readonly outcomes: OutcomeTaker
  readonly onPause: OnPause
  createLine(): Line
  createDelivery(line: Line, outcomes: OutcomeTaker, onPause: OnPause): Delivery
}

/** Sends in lanes where the runtime needs them; `undefined` where one delivery does for all. */
export type OpenLanes = (jsRuntime: JsRuntime, options: LanesOptions) => Courier | undefined

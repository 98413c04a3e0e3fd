import type { Kind } from '../message/types.ts'
import type { Callback, Context } from '../pipeline/context.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { Holder } from './store.ts'

/**
 * The state of one event, until it has its outcome. Events that are only in the spool may share an item until they are read
 * again.
 */
export interface Item extends Holder {
  readonly kind: Kind
  /** The number of the call: calls and recovered events are numbered from 1. */
  readonly seq: number
  readonly callback: Callback | undefined
  /** Callbacks and plugins run in this context of the call, so that their logs and traces belong to the same incoming request. */
  readonly asyncContext: CapturedContext | undefined
  /** Whether the event is sent at the end of its turn, without waiting for more events. */
  readonly isUrgent: boolean
  /** How many synchronous handlers of plugins have led to the call: 0 for a call of the program. */
  readonly depth: number
  /**
   * - `new`: not in the line: it is only in the spool, or about to get its outcome
   * - `line`: in the line
   * - `plugins`: inside plugins
   * - `sent`: in a batch that is in flight, or that goes out before the line
   * - `done`: has its outcome
   */
  state: 'new' | 'line' | 'plugins' | 'sent' | 'done'
  /** Whether the setting `disable` applied when the call was made: if so, the event is not sent. */
  isDisabled: boolean
  /** Whether its plugins have handled the event, or it comes from an earlier process, where they have. */
  isHandled: boolean
  /** Whether plugins of this client have handled the event, so that `after` plugins run for it. */
  passedPlugins: boolean
  /** Set early when plugins need it. Otherwise it is made from the stored message when it is needed. */
  ctx: Context | undefined
  /** Bytes of the message; 0 while the event is inside plugins. */
  bytes: number
  /** The place in the line; `Infinity` while the event has none. */
  order: number
  /** Number of requests that have contained the event. */
  attempts: number
  /** Number of failed requests that have contained the event. Those that have failed least are asked first. */
  failures: number
  /** The neighbours in the line. */
  previous: Item | undefined
  next: Item | undefined
}

/** All items have the same fields in the same order, so that JavaScript engines use one hidden class. */
export function createItem(
  kind: Kind,
  seq: number,
  callback?: Callback | undefined,
  asyncContext?: CapturedContext | undefined,
  isUrgent = false,
  depth = 0,
): Item {
  return {
    kind,
    seq,
    callback,
    asyncContext,
    isUrgent,
    depth,
    state: 'new',
    isDisabled: false,
    isHandled: false,
    passedPlugins: false,
    ctx: undefined,
    bytes: 0,
    order: Number.POSITIVE_INFINITY,
    attempts: 0,
    failures: 0,
    previous: undefined,
    next: undefined,
    stored: undefined,
  }
}

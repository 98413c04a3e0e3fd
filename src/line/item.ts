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
  /** The callback runs in this context of the call, so that its logs and traces belong to the same incoming request. */
  readonly asyncContext: CapturedContext | undefined
  /**
   * Whether the event is sent at the end of its turn, without waiting for more events. Also set for events of an earlier
   * process.
   */
  readonly isUrgent: boolean
  /**
   * - `new`: not in the line, because its call is in progress, it is only in the spool, or it is about to get its outcome
   * - `plugins`: inside asynchronous plugins
   * - `ready`: waits to be sent, or to be sent again
   * - `sent`: in a request, or in a part of a split range that waits to be sent again
   * - `done`: has its outcome
   */
  state: 'new' | 'plugins' | 'ready' | 'sent' | 'done'
  /** Whether the setting `disable` applied when the call was made: if so, the event is not sent. */
  isDisabled: boolean
  /** Whether the event has gone through the plugins and its message can be sent: if so, `after` plugins run for it. */
  passedPlugins: boolean
  /** The `messageId`. Set only when the `trackpost:outcome` channel has a subscriber. */
  messageId: string | undefined
  /**
   * Set early when plugins need it, or when the event fails before it is in the line. Otherwise it is made from the stored
   * message when it is needed.
   */
  ctx: Context | undefined
  /** Bytes of the message; an estimate while the event is inside plugins. */
  bytes: number
  /** The place in the line, set when the event becomes ready. */
  order: number
  /** Number of requests that have contained the event. */
  attempts: number
  /** Number of failed requests that count as retries of the event. */
  retries: number
  /** 1 while the event has no outcome, plus the number of plugins still at work on it. A flush waits until this is 0. */
  open: number
  /** The neighbours in the linked list of ready events. */
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
): Item {
  return {
    kind,
    seq,
    callback,
    asyncContext,
    isUrgent,
    state: 'new',
    isDisabled: false,
    passedPlugins: false,
    messageId: undefined,
    ctx: undefined,
    bytes: 0,
    order: 0,
    attempts: 0,
    retries: 0,
    open: 1,
    previous: undefined,
    next: undefined,
    stored: undefined,
  }
}

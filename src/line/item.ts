import type { Kind } from '../message/types.ts'
import type { Callback, Context } from '../pipeline/context.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { Holder } from './store.ts'

/** An event until it has its outcome. Events that are only in the spool may share an item until they are read back. */
export interface Item extends Holder {
  readonly kind: Kind
  /** Number of the call, counted over all accepted calls of the client. */
  readonly seq: number
  readonly callback: Callback | undefined
  /** The asynchronous context of the call. The callback runs in it, so that its logs and traces belong to that request. */
  readonly asyncContext: CapturedContext | undefined
  /** It is sent at the end of its turn, without waiting for more events. Also set for events that an earlier process left. */
  readonly isUrgent: boolean
  /**
   * - `new`: not in the line: inside its call, between two steps, only in the spool, or about to get its outcome
   * - `plugins`: inside asynchronous plugins
   * - `ready`: waits to be sent, for the first time or again
   * - `sent`: in a request, or in a part of a split range that waits to be sent again
   * - `done`: it has its outcome
   */
  state: 'new' | 'plugins' | 'ready' | 'sent' | 'done'
  /** The setting `disable` applied when the call was made: it is not sent. */
  isDisabled: boolean
  /** It passed the plugins as a message that can be sent: `after` plugins run for it. */
  passedPlugins: boolean
  /** Set only when the `trackpost:outcome` channel has a subscriber. */
  messageId: string | undefined
  /** Made early when plugins or a failure before the line need it; otherwise made from the stored message on demand. */
  ctx: Context | undefined
  /** Bytes of its message; an estimate while it is inside plugins. */
  bytes: number
  /** Its place among all ready events, set when it becomes ready. */
  order: number
  /** Requests that have carried it. */
  attempts: number
  /** Failed requests that count as retries of this event. */
  retries: number
  /** Its missing outcome plus plugin work that goes on after it: a flush waits until this is 0. */
  open: number
  /** Its neighbours while it is ready. */
  previous: Item | undefined
  next: Item | undefined
}

/** All items have the same fields in the same order, so that engines use one hidden class. */
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

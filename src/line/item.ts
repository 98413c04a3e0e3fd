import type { Kind } from '../message/types.ts'
import type { Callback, Context } from '../pipeline/context.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { Holder } from './store.ts'

/** One accepted call until it has its outcome: the only form of an unfinished event. */
export interface Item extends Holder {
  readonly kind: Kind
  /** Its number among all accepted calls of the client. */
  readonly seq: number
  readonly callback: Callback | undefined
  /** That of the call. The callback runs in it: what it logs or traces belongs to that request. */
  readonly asyncContext: CapturedContext | undefined
  /** It is sent when its turn is over, without waiting for more events. */
  readonly isUrgent: boolean
  /**
   * - `new`: inside its call
   * - `plugins`: inside asynchronous plugins
   * - `ready`: waits to be sent, for the first time or again
   * - `sent`: in a request, or in a part of a range that is sent again as it is
   * - `done`: it has its outcome
   */
  state: 'new' | 'plugins' | 'ready' | 'sent' | 'done'
  /** The setting `disable` said so when the call was made: it is not sent. */
  isDisabled: boolean
  /** It came out of the plugins as a message that can be sent: `after` plugins hear of its outcome. */
  passedPlugins: boolean
  /** Kept only where somebody asks for it. */
  messageId: string | undefined
  /** Made when plugins or a failure before the line need one; else from the stored message, when somebody asks. */
  ctx: Context | undefined
  /** Bytes of its message; those that it is expected to have, while it is inside plugins. */
  bytes: number
  /** Its place among all that became ready, set when it does. */
  order: number
  /** Requests that have carried it. */
  attempts: number
  /** Those of them that failed and count. */
  retries: number
  /** Its outcome, and plugin work that outlives it: a flush waits until there is none. */
  open: number
  /** Its neighbours while it is ready. */
  previous: Item | undefined
  next: Item | undefined
}

/** Whether somebody waits for this very event. */
export function isAwaited({ callback, isUrgent }: Item): boolean {
  return callback !== undefined || isUrgent
}

/** All items have the same fields in the same order: engines make one hidden class of them. */
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

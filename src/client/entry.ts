import type { Holder, StoredMessage } from '../delivery/store.ts'
import type { Kind } from '../message/types.ts'
import type { Context } from '../pipeline/context.ts'
import type { CapturedContext } from '../runtime/async-context.ts'
import type { Callback } from '../tracker.ts'
import type { Epoch } from './ledger.ts'

/** One accepted call until it has its outcome. */
export interface Entry extends Holder {
  readonly kind: Kind
  readonly epoch: Epoch
  /** Kept only where somebody asks for it. */
  messageId: string | undefined
  readonly callback: Callback | undefined
  /** That of the call. The callback runs in it: what it logs or traces belongs to that request. */
  readonly asyncContext: CapturedContext | undefined
  /** A promise or a flush waits for it: it is sent without waiting for more events. */
  readonly isAwaited: boolean
  /** Made when plugins or a failure before the backlog need one; else from the stored message, when somebody asks. */
  ctx: Context | undefined
  /** It came out of the plugins as a message that can be sent: `after` plugins hear of its outcome. */
  passedPlugins: boolean
  /** The setting `disable` said so when the call was made: it is not sent. */
  isDisabled: boolean
  isSettled: boolean
  /** The call that this one is nested in, while it is in progress. */
  outer: Entry | undefined
  stored: StoredMessage | undefined
}

/** An event that no call of this process has brought. */
export function createEntry(kind: Kind, epoch: Epoch): Entry {
  return {
    kind,
    epoch,
    callback: undefined,
    asyncContext: undefined,
    isAwaited: true,
    messageId: undefined,
    ctx: undefined,
    passedPlugins: false,
    isDisabled: false,
    isSettled: false,
    outer: undefined,
    stored: undefined,
  }
}

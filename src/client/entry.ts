import type { Holder, StoredMessage } from '../delivery/store.ts'
import type { Kind } from '../message/types.ts'
import type { Context } from '../pipeline/context.ts'
import type { Callback } from '../tracker.ts'
import type { Epoch } from './ledger.ts'

/** One accepted call until it has its outcome. */
export interface Entry extends Holder {
  readonly kind: Kind
  readonly epoch: Epoch
  readonly callback: Callback | undefined
  /** Made when plugins or a failure before the backlog need one; else from the stored message, when somebody asks. */
  ctx: Context | undefined
  /** It came out of the plugins as a message that can be sent: `after` plugins hear of its outcome. */
  passedPlugins: boolean
  isSettled: boolean
  stored: StoredMessage | undefined
}

export function createEntry(kind: Kind, epoch: Epoch, callback: unknown, ctx: Context | undefined): Entry {
  return {
    kind,
    epoch,
    callback: typeof callback === 'function' ? (callback as Callback) : undefined,
    ctx,
    passedPlugins: false,
    isSettled: false,
    stored: undefined,
  }
}

import type { DeliveryError } from '../errors/errors.ts'
import type { Holder } from '../message/store.ts'
import type { Kind } from '../message/types.ts'
import type { Callback, Context } from '../pipeline/context.ts'
import type { Passage } from '../pipeline/pipeline.ts'
import type { CapturedContext } from '../runtime/platform.ts'
import type { JournalRecord } from '../settings/journal.ts'

/**
 * One event, until it has its outcome. It is in exactly one list: the turn, inside plugins, the line, a part, a held batch or a
 * request; the list is where it is.
 */
export interface Item extends Holder {
  readonly kind: Kind
  /** The number of the call: calls and recovered events are numbered from 1. */
  readonly seq: number
  readonly callback: Callback | undefined
  /** Callbacks and plugins run in this context of the call, so that their logs and traces belong to the same incoming request. */
  readonly asyncContext: CapturedContext | undefined
  /** Whether somebody waits for the outcome. @see docs/spec.md, section 8, Who waits */
  readonly isAwaited: boolean
  /** Whether the event is sent at the end of its turn, without waiting for more events. */
  readonly isUrgent: boolean
  /** How many synchronous handlers of plugins have led to the call: 0 for a call of the program. */
  readonly depth: number
  /** Whether the setting `disable` applied when the call was made: if so, the event is not sent. */
  readonly isDisabled: boolean
  /** Whether an earlier process has put the event through its plugins. */
  readonly isRecovered: boolean
  /** Why the event has failed already, to be told at the end of the turn. */
  readonly error: DeliveryError | undefined
  /** Set early when plugins need it. Otherwise it is made from the stored message when it is needed. */
  ctx: Context | undefined
  /** The plugins that the event has entered. */
  passage: Passage | undefined
  /** Bytes of the message; 0 while the event is inside plugins. */
  bytes: number
  /** The place of the event in the journal. */
  record: JournalRecord | undefined
  /** The place in the line, which the event keeps when it comes back. */
  place: number
  /** When the event became due, on the monotonic clock; `Infinity` before. */
  dueMs: number
  /** Number of requests that have contained the event. */
  attempts: number
  /** Number of failed requests that have contained the event. Those that have failed least are asked first. */
  failures: number
  /** Number of requests that have failed with this event alone, while the service accepted others. */
  strikes: number
}

/** All items have the same fields in the same order, so that JavaScript engines use one hidden class. */
export function createItem(
  kind: Kind,
  seq: number,
  callback: Callback | undefined = undefined,
  asyncContext: CapturedContext | undefined = undefined,
  isAwaited = false,
  isUrgent = false,
  depth = 0,
  isDisabled = false,
  isRecovered = false,
  error: DeliveryError | undefined = undefined,
  ctx: Context | undefined = undefined,
): Item {
  return {
    kind,
    seq,
    callback,
    asyncContext,
    isAwaited,
    isUrgent,
    depth,
    isDisabled,
    isRecovered,
    error,
    ctx,
    passage: undefined,
    bytes: 0,
    record: undefined,
    place: 0,
    dueMs: Number.POSITIVE_INFINITY,
    attempts: 0,
    failures: 0,
    strikes: 0,
    stored: undefined,
  }
}

import type { AttemptResult } from './webhook.ts'

/** The result of one request with several events. */
export type BatchOutcome =
  | { kind: 'taken' }
  /** The data of at least one event was refused; the others may be accepted without it. */
  | { kind: 'refused'; reason: string }
  /** It is not known whether an event is at fault. */
  | { kind: 'unclear'; reason: string }
  /** The destination accepts nothing at present. */
  | { kind: 'unavailable'; reason: string }

/**
 * Maximum number of unclear outcomes for a batch, which may not be due to an event. After that, the rest of the batch waits for
 * the next attempt.
 */
const UNCLEAR_REQUESTS = 40

/**
 * Delivers events in as few requests as possible. Halves a refused group until the event at fault is alone.
 *
 * @param groups Each is one request at first.
 * @param settle Called once for each event.
 * @param canGoOn Called before each request. If it returns false, the remaining events are to be tried again.
 */
export async function sendSplitting<Item>(
  groups: ReadonlyArray<readonly Item[]>,
  send: (group: readonly Item[]) => Promise<BatchOutcome>,
  settle: (item: Item, result: AttemptResult) => void,
  canGoOn: () => boolean,
): Promise<void> {
  // A stack, in reverse order: the next group is the last element.
  const left = groups.filter((group) => group.length > 0).reverse()
  let unclear = 0
  let halted: string | undefined
  for (let group = left.pop(); group !== undefined; group = left.pop()) {
    if (halted === undefined && !canGoOn()) halted = 'no time left in its batch'
    const outcome: BatchOutcome =
      halted === undefined ? await send(group) : { kind: 'unavailable', reason: halted }
    if (outcome.kind === 'unclear') unclear++
    const canSplit = outcome.kind === 'refused' || (outcome.kind === 'unclear' && unclear <= UNCLEAR_REQUESTS)
    if (canSplit && group.length > 1) {
      const middle = Math.ceil(group.length / 2)
      left.push(group.slice(middle), group.slice(0, middle))
      continue
    }
    if (outcome.kind === 'unavailable' || unclear > UNCLEAR_REQUESTS) halted ??= reasonOf(outcome)
    for (const item of group) settle(item, resultOf(outcome))
  }
}

function reasonOf(outcome: BatchOutcome): string | undefined {
  return outcome.kind === 'taken' ? undefined : outcome.reason
}

function resultOf(outcome: BatchOutcome): AttemptResult {
  if (outcome.kind === 'taken') return { result: 'delivered' }
  return { result: outcome.kind === 'refused' ? 'failed' : 'retry', reason: outcome.reason }
}

import type { AttemptResult } from 'trackpost-collector/ports'

export type BatchOutcome =
  | { kind: 'taken' }
  /** The data of at least one event was refused. Without that event, the others may be accepted. */
  | { kind: 'refused'; reason: string }
  /** It is not known whether an event caused the failure. */
  | { kind: 'unclear'; reason: string }
  /** The destination accepts nothing now. */
  | { kind: 'unavailable'; reason: string }

/** After this many unclear outcomes, the rest of the batch waits for the next attempt: the cause may not be in the events. */
const UNCLEAR_REQUESTS = 40

/**
 * Delivers events in as few requests as possible. Halves a refused group until the event that caused the refusal is alone.
 *
 * @param groups Each group is sent in one request at first.
 * @param settle Called once for each event.
 * @param canGoOn Called before each request. If it returns false, the remaining events are tried again later.
 */
export async function sendSplitting<Item>(
  groups: ReadonlyArray<readonly Item[]>,
  send: (group: readonly Item[]) => Promise<BatchOutcome>,
  settle: (item: Item, result: AttemptResult) => void,
  canGoOn: () => boolean,
): Promise<void> {
  // A stack: the next group is its last element.
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

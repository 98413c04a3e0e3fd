import { type EventSummary, type Reason, TEXT_NAMES } from '../../record.ts'
import type { Dialect } from '../dialect.ts'
import { escapeForStore } from '../escape.ts'
import { inheritedPlaces } from '../inherited.ts'
import type { EventGroup, NewEvent, NewRequest } from '../ports.ts'
import { inheritedOf } from '../queries/records.ts'
import { BATCHES_COMPARED, type Content, contentComparer } from '../same-content.ts'
import type { Query } from '../sql.ts'
import { outcome, summaryOf } from '../summary.ts'

export interface Batch {
  groups: readonly EventGroup[]
  requests: readonly NewRequest[]
  /**
   * Whether groups with a known key are left out (`appendOnce`). Otherwise the batch has a key of its own, and if that key is
   * known, an earlier attempt to write this batch has succeeded.
   */
  isOnce: boolean
}

/** An earlier event that has the same messageId as an event of the batch. Its content is null if it is no longer stored. */
export interface SeenEvent extends Content {
  /** The index of the event in the batch. */
  index: number
}

/** A `SeenEvent` whose inherited fields are not read yet: `inherited` is the `seq` of the row in the table `inherited`. */
export interface SeenRow {
  index: number
  body: string | null
  inherited: number | null
}

/** A row for the table `delivery`; `index` is the index of the event in the batch. */
export interface NewDelivery {
  index: number
  destination: string
  state: 'pending' | 'skipped'
  reason: string | null
}

/** The events of one transaction, and the result of their deduplication. */
export class NewEvents {
  readonly events: readonly NewEvent[]
  /** The distinct names of the sources, and for each event the index of its source in `sources`. */
  readonly sources: string[] = []
  readonly sourceIndexes: readonly number[]
  /** For each event, the index of the event that holds its inherited fields; null = it inherits nothing. */
  readonly inheritedFrom: ReadonlyArray<number | null>
  /** For each event, why it is rejected: `NewEvent.reason`, or because its messageId is known. Null = accepted. */
  reasons: Array<Reason | null>
  /** The earlier events that are known, by source and messageId. */
  readonly #firsts = new Map<string, Content>()

  constructor(groups: readonly EventGroup[]) {
    this.events = groups.flatMap(({ events }) => events)
    const indexes = new Map<string, number>()
    this.sourceIndexes = this.events.map(({ source }) => {
      const known = indexes.get(source) ?? this.#sourceIndex(escapeForStore(source))
      indexes.set(source, known)
      return known
    })
    this.inheritedFrom = inheritedPlaces(this.events)
    this.reasons = this.events.map(({ reason }) => reason)
  }

  #sourceIndex(name: string): number {
    const known = this.sources.indexOf(name)
    return known < 0 ? this.sources.push(name) - 1 : known
  }

  /** Decides which events repeat an event in `known`, or an earlier event in the batch. Updates `reasons`. */
  deduplicate(known: readonly SeenEvent[]): void {
    const keys = this.events.map(({ reason, messageId }, index) =>
      reason === null && messageId !== null
        ? `${this.sourceIndexes[index]}:${escapeForStore(messageId)}`
        : undefined,
    )
    for (const first of known) this.#firsts.set(keys[first.index] ?? '', first)
    const firsts = new Map(this.#firsts)
    const isSame = contentComparer()
    this.reasons = this.events.map((event, index) => {
      const key = keys[index]
      if (key === undefined) return event.reason
      const first = firsts.get(key)
      if (first === undefined) {
        firsts.set(key, event)
        return null
      }
      return isSame(first, event) ? 'duplicate' : 'dedup_conflict'
    })
  }

  get deliveries(): NewDelivery[] {
    return this.events.flatMap((event, index) =>
      this.reasons[index] === null ? plannedFor(event).map((planned) => ({ index, ...planned })) : [],
    )
  }

  summaries(firstSeq: number): EventSummary[] {
    return this.events.map((event, index) => {
      const reason = this.reasons[index] ?? null
      const planned = reason === null ? plannedFor(event) : []
      const destinations = planned.map((delivery) => outcome({ ...delivery, attempts: 0 }))
      return summaryOf(firstSeq + index, reason, event, destinations)
    })
  }
}

/** Reads the inherited fields of at most `BATCHES_COMPARED` batches. Those of further batches are assumed to be equal. */
export function* seenEvents(
  dialect: Pick<Dialect, 'among'>,
  rows: readonly SeenRow[],
  events: readonly NewEvent[],
): Query<SeenEvent[]> {
  const named = [...new Set(rows.map(({ inherited }) => inherited))].filter((seq) => seq !== null)
  const texts = yield* inheritedOf(dialect, named.slice(0, BATCHES_COMPARED))
  return rows.map(({ index, body, inherited }) => ({
    index,
    body,
    inherited: inherited === null ? null : (texts.get(inherited) ?? events[index]?.inherited),
  }))
}

function plannedFor({ deliveries }: NewEvent): Array<Omit<NewDelivery, 'index'>> {
  return deliveries.map(({ destination, skippedBecause }) => ({
    destination,
    state: skippedBecause === undefined ? 'pending' : 'skipped',
    reason: skippedBecause ?? null,
  }))
}

/**
 * The values of an event for `GIVEN_COLUMNS`, in their order, escaped where necessary.
 *
 * @param reason Why the event is rejected, after deduplication.
 */
export function valuesOf(event: NewEvent, reason: Reason | null): Array<string | number | null> {
  const values: Array<string | number | null> = [reason, event.kind]
  for (const field of TEXT_NAMES) values.push(escapeForStore(event[field]))
  values.push(
    event.receivedAtMs,
    event.timestampMs,
    event.body,
    event.requestId === undefined ? null : Number(event.requestId),
    event.sent === undefined ? null : JSON.stringify(event.sent),
    list(event.warnings),
    list(event.violations),
  )
  return values
}

function list(values: readonly unknown[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : JSON.stringify(values)
}

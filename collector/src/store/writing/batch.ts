import type { EventSummary, Reason } from '../../record.ts'
import { escapeForStore } from '../escape.ts'
import { inheritedPlaces } from '../inherited.ts'
import type { EventGroup, NewEvent, NewRequest } from '../ports.ts'
import type { QueryDialect } from '../queries/dialect.ts'
import { inheritedOf } from '../queries/records.ts'
import { BATCHES_COMPARED, type Content, contentComparer } from '../same-content.ts'
import type { Query } from '../sql.ts'
import { outcome, summaryOf } from '../summary.ts'

/** The data of one transaction. */
export interface Batch {
  groups: readonly EventGroup[]
  requests: readonly NewRequest[]
  /** Whether groups whose key is known are left out; else a known key says that the batch itself was written before. */
  isOnce: boolean
}

/** The event that had the messageId of another one first; its content as far as it is known. */
export interface Known extends Content {
  /** Of the event that came again, in the batch. */
  index: number
}

/** The same as a database finds it; `inherited` names what it takes over from its batch. */
export interface KnownRow {
  index: number
  body: string | null
  inherited: number | null
}

/** A row of `delivery` for an event of the batch. */
export interface NewDelivery {
  index: number
  destination: string
  state: 'pending' | 'skipped'
  reason: string | null
}

/** The events of one transaction, and what is known of them so far. */
export class NewEvents {
  readonly events: readonly NewEvent[]
  /** The names of their sources, and the place of its own for each event. */
  readonly sources: string[] = []
  readonly sourceIndexes: readonly number[]
  /** For each event which one holds what it takes over from its batch; null = it takes over nothing. */
  readonly inheritedFrom: ReadonlyArray<number | null>
  /** Why an event is not accepted: its own reason, or that its messageId is known. */
  reasons: Array<Reason | null>
  /** By source and messageId: the event that had it first. */
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

  /** Decides which events are duplicates, of these that were there before or of each other. */
  deduplicate(known: readonly Known[]): void {
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

  /** The deliveries of those that are accepted. */
  get deliveries(): NewDelivery[] {
    return this.events.flatMap((event, index) =>
      this.reasons[index] === null ? plannedFor(event).map((planned) => ({ index, ...planned })) : [],
    )
  }

  /** The outcome of each event, in order. */
  summaries(firstSeq: number): EventSummary[] {
    return this.events.map((event, index) => {
      const reason = this.reasons[index] ?? null
      const planned = reason === null ? plannedFor(event) : []
      const destinations = planned.map((delivery) => outcome({ ...delivery, attempts: 0 }))
      return summaryOf(firstSeq + index, reason, event, destinations)
    })
  }
}

/** Reads what known events take over from their batches; those of more batches than are compared count as the same. */
export function* knownWith(
  dialect: Pick<QueryDialect, 'among'>,
  rows: readonly KnownRow[],
  events: readonly NewEvent[],
): Query<Known[]> {
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

/** The columns of an event that are the same in each database; those of what lies outside of it are left to the caller. */
export function factsOf(event: NewEvent) {
  return {
    name: escapeForStore(event.name),
    userId: escapeForStore(event.userId),
    anonymousId: escapeForStore(event.anonymousId),
    messageId: escapeForStore(event.messageId),
    requestId: event.requestId === undefined ? null : Number(event.requestId),
    sent: event.sent === undefined ? null : JSON.stringify(event.sent),
    warnings: list(event.warnings),
    violations: list(event.violations),
  }
}

function list(values: readonly unknown[] | undefined): string | null {
  return values === undefined || values.length === 0 ? null : JSON.stringify(values)
}

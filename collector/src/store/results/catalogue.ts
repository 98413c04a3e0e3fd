import { Inference } from '../../catalogue/infer.ts'
import { schemaOf } from '../../catalogue/schema.ts'
import type { TrackingPlan } from '../../plan/plan.ts'
import type { EventRecord, Message } from '../../record.ts'
import { equals } from '../../search/filter.ts'
import { type Search, term } from '../../search/syntax.ts'
import { BUCKET_MS, type Buckets, endOfBucket } from '../buckets.ts'
import type { EventSchema } from '../queries.ts'
import type { Catalogue, CatalogueDetail, CatalogueEntry } from '../query-results.ts'

const NAMED: ReadonlySet<string> = new Set(['track', 'page', 'screen'])
const SPARKS = 24
const MAX_SOURCES = 20
export const MAX_ENTRIES = 1000
/** Newest events from which the whole catalogue is inferred, and one entry. */
export const LIST_SAMPLES = 2000
export const ENTRY_SAMPLES = 1000
/** So long may samples be looked for, milliseconds. */
export const SAMPLES_MS = 100

export function keyOf(type: string, name: string | null): string {
  return NAMED.has(type) ? `${type}:${name ?? ''}` : type
}

/** A key as a caller may write it: a name alone is that of a track. */
export function readKey(key: string): { type: string; name: string } {
  const [, type, name] = /^(track|page|screen):([\s\S]*)$/.exec(key) ?? []
  if (type !== undefined) return { type, name: name ?? '' }
  return ['identify', 'group', 'alias'].includes(key) ? { type: key, name: '' } : { type: 'track', name: key }
}

/** The search that finds the events of an entry. */
export function samplesOf({ type, name }: { type: string; name: string }): Search {
  const parts = [equals('type', type), equals('status', 'accepted')]
  return { kind: 'and', parts: NAMED.has(type) ? [...parts, equals('name', name)] : parts }
}

/** How often an event came; `first` and `last` are buckets. */
export interface EntryCount {
  kind: string
  name: string
  count: number
  accepted: number
  first: number
  last: number
}

/** Counts of events: the entries of a catalogue before their schemas are inferred. */
export class Entries {
  readonly #byKey = new Map<string, CatalogueEntry>()
  /** First bucket and width of one step of the small curve of each entry. */
  readonly sparks: { first: number; width: number }

  constructor(rows: readonly EntryCount[], { first, end }: Buckets, plan: TrackingPlan | null) {
    let start = Number.MAX_SAFE_INTEGER
    let stop = 0
    for (const row of rows) {
      start = Math.min(start, row.first)
      stop = Math.max(stop, row.last + 1)
      const entry = newEntry(row, plan)
      this.#byKey.set(entry.key, entry)
    }
    start = Math.max(first, start)
    this.sparks = { first: start, width: Math.max(1, Math.ceil((Math.min(end, stop) - start) / SPARKS)) }
  }

  addSources(rows: ReadonlyArray<{ kind: string; name: string; source: string; count: number }>): void {
    for (const { kind, name, source, count } of rows) {
      const entry = this.#byKey.get(keyOf(kind, name))
      if (entry !== undefined && entry.sources.length < MAX_SOURCES)
        entry.sources.push({ name: source, count })
    }
  }

  addSparks(rows: ReadonlyArray<{ kind: string; name: string; slot: number; count: number }>): void {
    for (const { kind, name, slot, count } of rows) {
      const entry = this.#byKey.get(keyOf(kind, name))
      if (entry !== undefined && slot >= 0 && slot < SPARKS) entry.sparkline[slot] = count
    }
  }

  get all(): CatalogueEntry[] {
    return [...this.#byKey.values()]
  }
}

function newEntry(row: EntryCount, plan: TrackingPlan | null): CatalogueEntry {
  const { kind, name, count, accepted, first, last } = row
  const key = keyOf(kind, name)
  return {
    key,
    type: kind,
    name,
    count,
    accepted,
    rejected: count - accepted,
    firstSeen: new Date(first * BUCKET_MS).toISOString(),
    lastSeen: endOfBucket(last),
    sources: [],
    sparkline: Array(SPARKS).fill(0),
    properties: 0,
    inconsistent: 0,
    violations: 0,
    isPlanned: plan === null ? null : plan.has(key),
    q:
      kind === 'track'
        ? term('event', name)
        : `type:${kind}${NAMED.has(kind) ? ` ${term('name', name)}` : ''}`,
  }
}

/** The schema of one entry, inferred from its events. */
class Learnt {
  readonly inference = new Inference()
  violations = 0

  addTo(entry: CatalogueEntry): void {
    const fields = this.inference.fields()
    entry.properties = fields.length
    entry.inconsistent = fields.filter(({ isInconsistent }) => isInconsistent).length
    entry.violations = this.violations
  }
}

/** Learns the shapes of events from samples of them. */
export class Samples {
  readonly #byKey = new Map<string, Learnt>()
  #count = 0

  get count(): number {
    return this.#count
  }

  add(kind: string, name: string | null, message: Message, id: string, isViolation: boolean): void {
    this.#count++
    const key = keyOf(kind, name)
    const learnt = this.#byKey.get(key) ?? new Learnt()
    this.#byKey.set(key, learnt)
    const root = NAMED.has(kind) ? 'properties' : 'traits'
    learnt.inference.add(root, message[root], id)
    if (isViolation) learnt.violations++
  }

  schemas(): EventSchema[] {
    return [...this.#byKey]
      .map(([key, { inference }]) => ({ key, ...readKey(key), schema: schemaOf(inference.fields()) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  catalogue(entries: CatalogueEntry[], plan: TrackingPlan | null): Catalogue {
    for (const entry of entries) this.#byKey.get(entry.key)?.addTo(entry)
    const seen = new Set(entries.map(({ key }) => key))
    return {
      entries,
      plan:
        plan === null
          ? null
          : {
              title: plan.title,
              events: plan.keys.length,
              unseen: plan.keys.filter((key) => !seen.has(key)),
            },
      sampled: this.#count,
      isComplete: true,
    }
  }
}

/** One entry with all that its events tell. */
export function detailOf(entry: CatalogueEntry, records: readonly EventRecord[]): CatalogueDetail {
  const learnt = new Learnt()
  const root = NAMED.has(entry.type) ? 'properties' : 'traits'
  for (const { id, message, violations } of records) {
    if (message !== null) learnt.inference.add(root, message[root], id)
    if (violations > 0) learnt.violations++
  }
  learnt.addTo(entry)
  const fields = learnt.inference.fields()
  return {
    ...entry,
    sampled: learnt.inference.samples,
    fields,
    example: records[0] ?? null,
    schema: schemaOf(fields),
  }
}

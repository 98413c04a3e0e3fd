import { existsSync } from 'node:fs'
import { ConfigError } from '../config/config-error.ts'
import { DEFAULT_CONFIG } from '../config/defaults.ts'
import { openStore } from '../open-store.ts'
import type { TrackingPlan } from '../plan/plan.ts'
import type { EventRecord } from '../record.ts'
import { type EventFilter, searchOf } from '../search/filter.ts'
import { isPostgres } from '../store/address.ts'
import type { Cursor } from '../store/ports.ts'
import { systemClock } from '../system-clock.ts'

const PAGE = 1000

export interface BrokenRule {
  /** The key of the events in the catalogue, for example `track:Order Completed` or `identify`. */
  key: string
  /** Path into the message, with dots between the keys. */
  path: string
  message: string
  count: number
  /** Sequence number of the first event that violates the rule. */
  firstSeq: number
}

export interface PlanReport {
  checked: number
  broken: BrokenRule[]
}

/**
 * Checks the accepted events of a database against a plan, even if they were recorded with another plan.
 *
 * @throws ConfigError when there is no such database; SearchSyntaxError when the search cannot be read.
 */
export async function checkDatabase(
  path: string,
  plan: TrackingPlan,
  filter: EventFilter = {},
): Promise<PlanReport> {
  // Opening the store would create an empty database, in which nothing violates the plan.
  if (!isPostgres(path) && !existsSync(path)) throw new ConfigError(`database: ${path} does not exist`)
  const search = searchOf({ ...filter, status: 'accepted' })
  // The store is not started, because a started store deletes old events.
  const store = await openStore(path, {
    config: DEFAULT_CONFIG,
    clock: systemClock,
    plan: null,
    // The query throws read errors.
    onFault: () => {},
  })
  const broken = new Map<string, BrokenRule>()
  let checked = 0
  try {
    for (let cursor: Cursor | null | undefined; cursor !== null; ) {
      const page = await store.reader.ask('events', {
        search,
        order: 'oldest',
        limit: PAGE,
        isFull: true,
        ...(cursor && { cursor }),
      })
      checked += page.events.length
      for (const event of page.events) checkOne(event as EventRecord, plan, broken)
      cursor = page.next
    }
  } finally {
    await store.close()
  }
  return { checked, broken: [...broken.values()].sort((one, other) => other.count - one.count) }
}

function checkOne(
  { seq, type, name, message }: EventRecord,
  plan: TrackingPlan,
  broken: Map<string, BrokenRule>,
): void {
  for (const { path, message: text } of plan.check(type ?? '', name, message ?? {})) {
    const key = type === 'identify' || type === 'group' || type === 'alias' ? type : `${type}:${name}`
    const id = JSON.stringify([key, path, text])
    const rule = broken.get(id)
    if (rule === undefined) broken.set(id, { key, path, message: text, count: 1, firstSeq: seq })
    else rule.count++
  }
}

import { existsSync } from 'node:fs'
import { ConfigError } from '../config/config-error.ts'
import { keyOf } from '../event-key.ts'
import type { TrackingPlan } from '../plan/plan.ts'
import { type EventFilter, searchOf } from '../search/filter.ts'
import { allEvents } from '../store/queries/events.ts'
import { Store } from '../store/store.ts'
import { systemClock } from '../system-clock.ts'

interface BrokenRule {
  /** The key of the events in the catalogue, for example `track:Order Completed` or `identify`. */
  key: string
  path: string
  message: string
  count: number
  /** Sequence number of the first event that violates the rule. */
  firstSeq: number
}

/**
 * Checks the accepted events of a database against a plan, even if they were recorded with another plan.
 *
 * @throws ConfigError when there is no such database; SearchSyntaxError when the search cannot be read.
 */
export function checkDatabase(path: string, plan: TrackingPlan, filter: EventFilter = {}) {
  // Opening the store would create an empty database, in which nothing violates the plan.
  if (!existsSync(path)) throw new ConfigError(`database: ${path} does not exist`)
  const search = searchOf({ ...filter, status: 'accepted' })
  const store = new Store({ path, clock: systemClock, keep: Number.MAX_SAFE_INTEGER, onFault: () => {} })
  const { database, persons, messageIds } = store
  const broken = new Map<string, BrokenRule>()
  try {
    const context = { database, persons, messageIds, plan: null, nowMs: systemClock.now() }
    const events = allEvents(context, { search, order: 'oldest' })
    for (const { seq, type, name, message } of events) {
      for (const { path, message: text } of plan.check(type ?? '', name, message ?? {})) {
        const key = keyOf(type ?? '', name)
        const id = JSON.stringify([key, path, text])
        const rule = broken.get(id) ?? { key, path, message: text, count: 0, firstSeq: seq }
        broken.set(id, { ...rule, count: rule.count + 1 })
      }
    }
    return {
      checked: events.length,
      broken: [...broken.values()].sort((one, other) => other.count - one.count),
    }
  } finally {
    store.close()
  }
}

import { existsSync } from 'node:fs'
import { ConfigError } from '../config/config-error.ts'
import type { EventFilter } from '../search/filter.ts'
import { Store } from '../store/sqlite/store.ts'
import type { TrackingPlan } from './plan.ts'

const PAGE = 1000
const NEVER_DELETED = Number.MAX_SAFE_INTEGER

/** One way in which events break the plan. */
export interface BrokenRule {
  /** `track:Order Completed`, as the catalogue has it; `identify` and `group` by themselves. */
  key: string
  /** Dotted path into the message. */
  path: string
  message: string
  /** How many events break it. */
  count: number
  /** Number of the first of them. */
  firstSeq: number
}

/** What recorded events look like beside a plan. */
export interface PlanReport {
  /** Accepted events that were looked at. */
  checked: number
  broken: BrokenRule[]
}

/**
 * Holds the accepted events of a database against a plan, whatever plan they were recorded with.
 *
 * @throws ConfigError when there is no such database; what the search line says when it cannot be read.
 */
export function checkDatabase(path: string, plan: TrackingPlan, filter: EventFilter = {}): PlanReport {
  // Opening it would make an empty one, in which everything is as planned.
  if (!existsSync(path)) throw new ConfigError(`database: ${path} is not there`)
  const store = new Store({ path, durability: 'process', maxEvents: NEVER_DELETED })
  const broken = new Map<string, BrokenRule>()
  let checked = 0
  try {
    for (let after = 0; ; ) {
      const page = store.events({ ...filter, status: 'accepted', after, limit: PAGE })
      for (const { seq, type, name, message } of page) {
        checked++
        for (const violation of plan.check(type ?? '', name, message ?? {})) {
          const key = type === 'identify' || type === 'group' || type === 'alias' ? type : `${type}:${name}`
          const id = JSON.stringify([key, violation.path, violation.message])
          const rule = broken.get(id) ?? {
            key,
            path: violation.path,
            message: violation.message,
            count: 0,
            firstSeq: seq,
          }
          rule.count++
          broken.set(id, rule)
        }
      }
      if (page.length < PAGE) break
      after = page.at(-1)?.seq ?? after
    }
  } finally {
    store.close()
  }
  return { checked, broken: [...broken.values()].sort((one, other) => other.count - one.count) }
}

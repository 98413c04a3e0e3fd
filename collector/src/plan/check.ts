import type { EventRecord, Message } from '../record.ts'
import { Store } from '../store/sqlite/store.ts'
import type { TrackingPlan } from './plan.ts'

const PAGE = 500
const MAX_LISTED = 1000

/** What a check of recorded events against a plan came to. */
export interface CheckResult {
  /** Accepted events that were looked at, and how many of them are not as planned. */
  checked: number
  broken: number
  /** Keys of what is planned and was never seen. */
  unseen: string[]
  /** Lines for people: the event and what is wrong with it; at most 1,000. */
  lines: string[]
}

/**
 * Checks the accepted events of a database against a plan, for `trackpost-collector check`.
 *
 * @throws when the database cannot be opened.
 */
export function checkDatabase(path: string, plan: TrackingPlan): CheckResult {
  const store = new Store({ path, durability: 'process', maxEvents: Number.MAX_SAFE_INTEGER })
  const seen = new Set<string>()
  const result: CheckResult = { checked: 0, broken: 0, unseen: [], lines: [] }
  try {
    let after = 0
    for (;;) {
      const records = store.events({ status: 'accepted', after, limit: PAGE })
      for (const record of records) checkOne(record, plan, seen, result)
      if (records.length < PAGE) break
      after = records.at(-1)?.seq ?? after
    }
  } finally {
    store.close()
  }
  result.unseen = plan.keys.filter((key) => !seen.has(key))
  return result
}

function checkOne(record: EventRecord, plan: TrackingPlan, seen: Set<string>, result: CheckResult): void {
  const kind = record.type ?? ''
  result.checked++
  seen.add(['track', 'page', 'screen'].includes(kind) ? `${kind}:${record.name ?? ''}` : kind)
  const violations = plan.check(kind, record.name, (record.message ?? {}) as Message)
  if (violations.length === 0) return
  result.broken++
  const what = [kind, record.name].filter((part) => part !== null && part !== '').join(' ')
  for (const { path, message } of violations) {
    if (result.lines.length < MAX_LISTED) result.lines.push(`${record.id} ${what}: ${path} ${message}`)
  }
}

import type { TrackingPlan } from '../../../plan/plan.ts'
import type { Database } from '../database.ts'
import { Budget } from '../work.ts'

/** What a query is answered from. */
export interface QueryContext {
  database: Database
  /** Milliseconds since the epoch. */
  nowMs: number
  budget: Budget
  plan: TrackingPlan | null
}

/** So long may one query look before it gives back what it has. */
const QUERY_MS = 150

export function newContext(database: Database, nowMs: number, plan: TrackingPlan | null): QueryContext {
  return { database, nowMs, plan, budget: new Budget(QUERY_MS) }
}

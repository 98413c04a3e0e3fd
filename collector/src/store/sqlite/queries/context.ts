import type { TrackingPlan } from '../../../plan/plan.ts'
import { Budget, QUERY_MS } from '../../budget.ts'
import type { Database } from '../database.ts'

/** What a query is answered from. */
export interface QueryContext {
  database: Database
  /** Milliseconds since the epoch. */
  nowMs: number
  budget: Budget
  plan: TrackingPlan | null
}

export function newContext(database: Database, nowMs: number, plan: TrackingPlan | null): QueryContext {
  return { database, nowMs, plan, budget: new Budget(QUERY_MS) }
}

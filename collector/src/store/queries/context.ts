import type { TrackingPlan } from '../../plan/plan.ts'
import type { Budget } from '../budget.ts'
import type { TimeRange } from '../queries.ts'
import type { QueryDialect } from './dialect.ts'

/** Everything that a query needs. */
export interface QueryContext {
  dialect: QueryDialect
  /** Milliseconds since the epoch. */
  nowMs: number
  budget: Budget
  plan: TrackingPlan | null
}

/** A range of time with both ends, for statements that need both. */
export function closed({ fromMs, toMs }: TimeRange): { fromMs: number; toMs: number } {
  return { fromMs: fromMs ?? Number.MIN_SAFE_INTEGER, toMs: toMs ?? Number.MAX_SAFE_INTEGER }
}

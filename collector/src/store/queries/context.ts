import type { TrackingPlan } from '../../plan/plan.ts'
import type { Budget } from '../budget.ts'
import type { StepContext } from '../dialect.ts'
import type { TimeRange } from '../event-reader.ts'

export interface QueryContext extends StepContext {
  budget: Budget
  plan: TrackingPlan | null
}

/** A range of time, with safe integers instead of missing ends. */
export function closed({ fromMs, toMs }: TimeRange): { fromMs: number; toMs: number } {
  return { fromMs: fromMs ?? Number.MIN_SAFE_INTEGER, toMs: toMs ?? Number.MAX_SAFE_INTEGER }
}

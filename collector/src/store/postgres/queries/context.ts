import type { TrackingPlan } from '../../../plan/plan.ts'
import type { Budget } from '../../budget.ts'
import type { Queryable } from '../database.ts'
import type { Span } from '../span.ts'

/** What a question is answered from. */
export interface QueryContext {
  /** All statements of a question see the same state. */
  sql: Queryable
  span: Span
  /** Milliseconds since the epoch. */
  nowMs: number
  budget: Budget
  plan: TrackingPlan | null
}

import type { TrackingPlan } from '../../plan/plan.ts'
import type { Database } from '../database.ts'
import type { MessageIds } from '../message-ids.ts'
import type { Persons } from '../persons.ts'

/** What every query reads from. */
export interface QueryContext {
  database: Database
  persons: Persons
  messageIds: MessageIds
  plan: TrackingPlan | null
  /** Milliseconds since the epoch, for relative times. */
  nowMs: number
}

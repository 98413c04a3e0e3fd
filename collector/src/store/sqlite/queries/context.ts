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

/** A cursor of this store: a number, in a form that nobody is tempted to compute with. */
export function cursorOf(seq: number): string {
  return Buffer.from(`1:${seq}`).toString('base64url')
}

/** The number in a cursor; undefined for what no store of this kind has given out. */
export function seqOf(cursor: string): number | undefined {
  const match = /^1:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString())
  return match === null ? undefined : Number(match[1])
}

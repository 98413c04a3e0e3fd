import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AdminGate } from '../auth/admin.ts'
import type { TokenServer } from '../auth/tokens.ts'
import type { EventChanges } from '../changes/changes.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { Faults } from '../faults/rules.ts'
import { HttpProblem } from '../http/reply.ts'
import type { Stats } from '../live/stats.ts'
import type { LiveStream } from '../live/stream.ts'
import type { Waiters } from '../live/waiters.ts'
import type { OnFault } from '../on-fault.ts'
import type { TrackingPlan } from '../plan/plan.ts'
import type { QueryContext } from '../store/queries/context.ts'
import type { Store } from '../store/store.ts'

/** What a collector is made of. */
export interface CollectorParts {
  config: Config
  store: Store
  clock: Clock
  tokens: TokenServer | undefined
  admin: AdminGate
  faults: Faults
  plan: TrackingPlan | null
  isLocal: boolean
  onFault: OnFault
}

export interface ApiParts extends CollectorParts {
  startedAt: string
  /** Where events come from beside the HTTP API, without credentials; null if from nowhere else. */
  log(): string | null
  stream: LiveStream
  waiters: Waiters
  comparison: EventChanges
  context(): QueryContext
  url(): string
  stats(): Stats
  /** Makes the destinations look for due deliveries at once. */
  wake(): void
}

/** One request to the API. */
export interface Asking extends Omit<ApiParts, 'context'> {
  context: QueryContext
  parameters: URLSearchParams
  /** The part of the path in the place of `:id`. */
  id: string
  request: IncomingMessage
  response: ServerResponse
}

/** Returned by a handler that has written the response itself. */
export const DONE = Symbol('done')

/** @throws HttpProblem 404 for a value that is missing. */
export function found<T>(value: T | null | undefined, code: string, message: string): T {
  if (value === null || value === undefined) throw new HttpProblem(404, code, message)
  return value
}

/** Handlers by method and path. Each returns the value to send as JSON, or `DONE`. */
export type Routes = Readonly<Record<string, (asking: Asking) => unknown>>

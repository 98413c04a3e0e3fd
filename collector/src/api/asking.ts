import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TokenServer } from '../auth/tokens.ts'
import type { EventChanges } from '../changes/changes.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import type { ReleaseTarget } from '../destinations/release.ts'
import type { Faults } from '../faults/rules.ts'
import { HttpProblem } from '../http/reply.ts'
import type { Stats } from '../live/stats.ts'
import type { LiveStream } from '../live/stream.ts'
import type { Waiters } from '../live/waiters.ts'
import type { QueryContext } from '../store/queries/context.ts'
import type { Store } from '../store/store.ts'

/** Facts about the collector for `/api/about`. */
export interface About {
  version: string
  startedAt: string
  region: string
  /** Name of the file, or `:memory:`. */
  database: string
  /** Null if any write key is accepted. */
  sources: string[] | null
  destinations: string[]
  hasPlan: boolean
  /** The newest events that are kept. */
  maxEvents: number
  /** Where events come from beside the HTTP API, without credentials; null if from nowhere else. */
  log: string | null
  /** Whether the API requires the admin token. The page then offers to log out. */
  needsToken: boolean
}

/** The parts of a collector that its API uses. */
export interface ApiParts {
  config: Config
  store: Store
  clock: Clock
  tokens: TokenServer | undefined
  release: ReleaseTarget | null
  faults: Faults
  about: About
  stream: LiveStream
  waiters: Waiters
  comparison: EventChanges
  /** What queries read from, now. */
  context(): QueryContext
  /** The address of this collector. */
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

import type { Pipeline } from '../pipeline/pipeline.ts'
import type { Intake } from './intake.ts'
import type { Ledger, Stats } from './ledger.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { Status } from './monitor.ts'
import type { Registry } from './registry.ts'
import type { Verification } from './verify.ts'
import type { Warnings } from './warnings.ts'

/** The parts of a client. Read again for each call: on Cloudflare Workers, each incoming request has its own parts. */
export interface Parts {
  readonly intake: Intake
  readonly lifecycle: Lifecycle
  readonly registry: Registry
  readonly warnings: Warnings
  readonly pending: number
  stats(): Stats
  status(): Status
  verify(): Promise<Verification>
}

/** One set of parts, with its own timers, sockets and promises. */
export interface OwnParts extends Parts {
  readonly ledger: Ledger
  readonly pipeline: Pipeline
}

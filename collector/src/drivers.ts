import type { BatchSender } from './batch-sender.ts'
import type { Clock } from './clock.ts'
import type { Config, DestinationConfig } from './config/schema.ts'
import type { SharedLog } from './log/ports.ts'
import type { LoadedPlan } from './plan/plan.ts'
import type { EventStore } from './store/event-store.ts'

export interface StoreParts {
  config: Config
  clock: Clock
  plan: LoadedPlan | null
  /** Cancels opening, for example while another process creates or migrates the tables. */
  signal?: AbortSignal
  onFault(what: string, cause: unknown): void
}

export interface LogParts {
  settings: Config['log']
  clock: Clock
  onFault(what: string, cause: unknown): void
}

export type ClickHouseConfig = Extract<DestinationConfig, { type: 'clickhouse' }>

/** The exports of `trackpost-cluster`: they open stores, logs and destinations on servers. */
export interface Drivers {
  /** The collector loads only its own version. */
  readonly version: string
  /**
   * @throws StoreUnavailableError when the server is unavailable, or a newer collector has migrated the tables; ConfigError when
   *   the store cannot be opened for any other reason.
   */
  openStore(address: string, parts: StoreParts): Promise<EventStore>
  /**
   * If the log is unavailable, keeps trying to connect in the background.
   *
   * @throws ConfigError when the address or the credentials cannot be used, or the log is available but cannot be used.
   */
  openLog(address: string, parts: LogParts): Promise<SharedLog>
  openSender(
    destination: ClickHouseConfig,
    clock: Clock,
    onFault: (cause: unknown) => void,
  ): Promise<BatchSender>
}

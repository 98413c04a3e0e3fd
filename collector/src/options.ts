import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock } from './clock.ts'
import type { ConfigInput } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { DEFAULT_CONFIG } from './config/defaults.ts'
import type { Config } from './config/schema.ts'
import { isLoopback } from './http/origin.ts'
import type { ServerLimits } from './http/server.ts'
import type { TrackingPlan, TrackingPlanFile } from './plan/plan.ts'

/** Options of a collector. */
export interface CollectorOptions {
  /** Port to listen on; default 8787. 0 chooses any free port. */
  port?: number
  /** Address to listen on; default 127.0.0.1. */
  host?: string
  /**
   * Must be true to listen on an address that other machines can reach. The collector has no TLS: put a proxy in front of it.
   */
  allowPublic?: boolean
  /** The path of an SQLite file, or `:memory:` (default). Each collector needs a file of its own. */
  store?: string
  /** The newest events that are kept, 1 to 1,000,000; default 100,000. */
  keep?: number
  /**
   * Address of a stream of `trackpost-cluster`, `nats://<host>[:port]`, whose events are shown too. Needs that package. Default:
   * none.
   */
  log?: string
  /** The configuration, or the path of a config file. */
  config?: ConfigInput | string
  /**
   * The token that the page and `/api` require. Scripts send it as `Authorization: Bearer <token>`; users enter it once in a
   * form. Without a token, nobody can use them on an address that other machines reach.
   */
  adminToken?: string
  /** A tracking plan, or the path of a file with a plan. Events that violate the plan are marked. */
  plan?: TrackingPlanFile | string
  /** Limits for connections, for tests with hostile clients. */
  limits?: Partial<ServerLimits>
  /** The source of times, timers and random numbers, for tests. */
  clock?: Clock
  /**
   * Called for internal faults, for example a database that cannot write, or an unavailable destination. Default: none. An
   * error of this function only causes a process warning.
   */
  onFault?: (what: string, cause: unknown) => void
}

export const DEFAULT_PORT = 8787

/** Imports the validation library only if there is a configuration. */
export async function readConfig(given: ConfigInput | string | undefined): Promise<Config> {
  if (given === undefined) return DEFAULT_CONFIG
  const { loadConfig, parseConfig } = await import('./config/load.ts')
  return typeof given === 'string' ? loadConfig(given) : parseConfig(given, 'config')
}

/** Returns whether only this machine can reach the address. Throws if other machines can, unless `allowPublic` is true. */
export async function checkAddress(host: string, allowPublic: boolean): Promise<boolean> {
  let address: string
  try {
    // `lookup` accepts an empty name, but a server with an empty name listens on all addresses.
    if (host === '') throw new Error('no host')
    address = isIP(host) ? host : (await lookup(host)).address
  } catch {
    throw new ConfigError(`host: ${JSON.stringify(host)} cannot be resolved`)
  }
  if (isLoopback(address)) return true
  if (allowPublic) return false
  throw new ConfigError(
    `host: ${host} can be reached from other machines, and the collector speaks no TLS; ` +
      'put a TLS proxy in front and use --allow-public (allowPublic: true)',
  )
}

/** Imports the JSON Schema library only if there is a plan. */
export async function readPlan(given: TrackingPlanFile | string | undefined): Promise<TrackingPlan | null> {
  if (given === undefined) return null
  const { loadPlan, PlanError, TrackingPlan } = await import('./plan/plan.ts')
  try {
    return typeof given === 'string' ? loadPlan(given) : new TrackingPlan(given)
  } catch (cause) {
    if (cause instanceof PlanError) throw new ConfigError(`plan: ${cause.message}`)
    throw cause
  }
}

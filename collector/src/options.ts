import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { AdminAccess } from './auth/admin.ts'
import type { Clock } from './clock.ts'
import type { ConfigInput } from './config/config.ts'
import { ConfigError } from './config/config-error.ts'
import { DEFAULT_CONFIG } from './config/defaults.ts'
import type { Config } from './config/schema.ts'
import { type ReleaseTarget, readReleaseTarget } from './destinations/release.ts'
import { isLoopback } from './http/origin.ts'
import type { ServerLimits } from './http/server.ts'
import type { LoadedPlan, TrackingPlanFile } from './plan/plan.ts'
import { MEMORY } from './store/open.ts'

/** Options of a collector. */
export interface CollectorOptions {
  /** Default 8787; 0 = any free port. */
  port?: number
  /** Address to listen on, default 127.0.0.1. */
  host?: string
  /** Needed to listen on an address that is not loopback. There is no TLS here: put a proxy in front. */
  allowPublic?: boolean
  /**
   * Address of the store: the path of an SQLite file, `:memory:` (default), or `postgres://user:password@host:port/database`,
   * which any number of collectors may share.
   */
  store?: string
  /** The same as `store`, under its older name. */
  database?: string
  /**
   * Address of a log on NATS JetStream, `nats://<host>[:port]`: events are written to it, and processes with `work` write them
   * from there to the store. Without `store`, this process stores nothing itself. Default: no log.
   */
  log?: string
  /** Writes the events of the log to the store, and delivers them to destinations; needs `log` and `store`. */
  work?: boolean
  /** The config, or the path of the file with it. */
  config?: ConfigInput | string
  /**
   * The token that the page and `/api` require: scripts send it as `Authorization: Bearer <token>`, people enter it once in a
   * form. With `allowPublic` and without a token, the page and `/api` are closed.
   */
  adminToken?: string
  /** A tracking plan, or the path of a file with one: events that violate it are marked. */
  plan?: TrackingPlanFile | string
  /**
   * Where the page may release chosen events to: the address of a real service with a write key for it, `https://<write
   * key>@api.segment.io`. Nothing is sent there automatically.
   */
  releaseTo?: string
  /** Probability that the response to a request to `/v1` is 503, from 0 to 1; default 0. */
  failRate?: number
  /** Limits of connections, for tests of hostile clients. */
  limits?: Partial<ServerLimits>
  /** The clocks and timers, for tests. */
  clock?: Clock
  /**
   * Called for internal faults: a database that cannot write, an unavailable destination. Default: none. If it throws, that is
   * a process warning and has no other effect.
   */
  onFault?: (what: string, cause: unknown) => void
  /**
   * Called when the store, the log or a destination is back after a fault, with a message and the fault that is over: "the
   * store is back", "the store is unavailable". Default: none. If it throws, that is a process warning.
   */
  onRecovery?: (what: string, fault: string) => void
}

const MIN_TOKEN_CHARACTERS = 8

/** Checks the config. The library for that is loaded only if there is a config. */
export async function readConfig(given: ConfigInput | string | undefined): Promise<Config> {
  if (given === undefined) return DEFAULT_CONFIG
  const { loadConfig, parseConfig } = await import('./config/load.ts')
  return typeof given === 'string' ? loadConfig(given) : parseConfig(given, 'config')
}

/** The address of the store. */
export function storeAddress({ store, database }: CollectorOptions): string {
  if (store !== undefined && database !== undefined && store !== database) {
    throw new ConfigError('store and database mean the same: set one of them')
  }
  return store ?? database ?? MEMORY
}

/** Whether only this machine can reach the address. Throws if other machines can, unless that is allowed. */
export async function checkAddress(host: string, allowPublic: boolean): Promise<boolean> {
  let address: string
  try {
    // For `lookup`, an empty name is no error, but listening on it means all addresses.
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

/** Who may see the page and `/api`. */
export function adminAccess(token: string | undefined, isLocal: boolean): AdminAccess {
  if (token === undefined) return isLocal ? 'open' : 'closed'
  if (token.length >= MIN_TOKEN_CHARACTERS) return { token }
  throw new ConfigError(`adminToken: expected at least ${MIN_TOKEN_CHARACTERS} characters`)
}

/** Loads the plan, if there is one. The library that checks events is loaded only then. */
export async function readPlan(given: TrackingPlanFile | string | undefined): Promise<LoadedPlan | null> {
  if (given === undefined) return null
  const { PlanError, readPlanFile, TrackingPlan } = await import('./plan/plan.ts')
  try {
    const file = typeof given === 'string' ? readPlanFile(given) : given
    return { file, plan: new TrackingPlan(file) }
  } catch (cause) {
    if (cause instanceof PlanError) throw new ConfigError(`plan: ${cause.message}`)
    throw cause
  }
}

/** The target of releases; null = none. */
export function readRelease(text: string | undefined): ReleaseTarget | null {
  if (text === undefined) return null
  const target = readReleaseTarget(text)
  if (target !== undefined) return target
  throw new ConfigError('releaseTo: expected https://<write key>@<host>')
}

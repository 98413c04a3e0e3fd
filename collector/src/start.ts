import type { About } from './api/api.ts'
import { RateLimit } from './auth/rate-limit.ts'
import type { TokenServer } from './auth/tokens.ts'
import type { Clock } from './clock.ts'
import { loadCluster, requireCluster } from './cluster.ts'
import { RunningCollector } from './collector.ts'
import type { Config } from './config/schema.ts'
import type { LogParts } from './drivers.ts'
import { Faults } from './faults/rules.ts'
import type { Collector } from './handle.ts'
import { listenersOf } from './listeners.ts'
import { withoutBrackets } from './network-address.ts'
import { maxEventsOf, openStore, openStoreOrRetry, storeName } from './open-store.ts'
import {
  adminAccess,
  type CollectorOptions,
  checkAddress,
  readConfig,
  readPlan,
  readRelease,
  storeAddress,
} from './options.ts'
import { roleOf, type Shared } from './shared.ts'
import type { TokenMemory } from './store/ports.ts'
import { systemClock } from './system-clock.ts'
import { version } from './version.ts'

const DEFAULT_PORT = 8787

/**
 * Starts a collector.
 *
 * @throws ConfigError when a setting is invalid or the address is public; the system's error when the port is in use; the error
 * of the database when the file cannot be opened.
 */
export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  const config = await readConfig(options.config)
  const host = withoutBrackets(options.host ?? '127.0.0.1')
  const isLocal = await checkAddress(host, options.allowPublic ?? false)
  const clock = options.clock ?? systemClock
  // All options are checked before anything is opened.
  const access = adminAccess(options, isLocal)
  const faults = new Faults(clock)
  if (options.failRate !== undefined) faults.failRate = options.failRate
  const release = readRelease(options.releaseTo)
  const plan = await readPlan(options.plan)
  const listeners = listenersOf(options)
  const { onFault } = listeners
  const role = roleOf(options)
  await requireCluster({
    store: storeAddress(options),
    log: options.log,
    destinations: role?.role === 'front' ? [] : config.destinations,
  })
  // If there is a log, the store may be opened later, because events wait in the log.
  const parts = { config, clock, plan, onFault }
  const store = await (role === undefined
    ? openStore(storeAddress(options), parts)
    : openStoreOrRetry(storeAddress(options), parts, role.role === 'worker'))
  let running: RunningCollector
  let shared: Shared | undefined
  try {
    if (role !== undefined)
      shared = await openShared(role, options.log ?? '', { settings: config.log, clock, onFault })
    // A process with a log may have no store. So the data about tokens is in the log, and each process limits rates by itself.
    const tokens = await createTokenServer(config, clock, shared?.log.tokens ?? store)
    const rateLimits = (shared === undefined ? store.rateLimits : undefined) ?? new RateLimit(clock)
    const about: About = {
      ...aboutOf(config, options, clock),
      role: role?.role ?? 'single',
      log: shared?.log.address ?? null,
      needsToken: typeof access === 'object',
      isProtected: options.protect ?? false,
    }
    const checked = {
      clock,
      tokens,
      rateLimits,
      access,
      faults,
      isLocal,
      plan,
      release,
      about,
      shared,
      listeners,
    }
    running = new RunningCollector(config, store, options, checked)
  } catch (cause) {
    await shared?.log.close()
    await store.close()
    throw cause
  }
  try {
    await running.listen(options.port ?? DEFAULT_PORT, host)
  } catch (cause) {
    await running.close()
    throw cause
  }
  return running
}

async function openShared(
  role: Pick<Shared, 'role' | 'hasStore'>,
  address: string,
  parts: LogParts,
): Promise<Shared> {
  const { openLog } = await loadCluster('a log on NATS')
  return { ...role, log: await openLog(address, parts) }
}

async function createTokenServer(
  { oauth, publicUrl }: Config,
  clock: Clock,
  memory: TokenMemory,
): Promise<TokenServer | undefined> {
  if (oauth === undefined) return undefined
  const { TokenServer } = await import('./auth/tokens.ts')
  return new TokenServer({ oauth, publicUrl }, clock, memory)
}

function aboutOf(
  config: Config,
  options: CollectorOptions,
  clock: Clock,
): Omit<About, 'role' | 'log' | 'needsToken' | 'isProtected'> {
  const address = storeAddress(options)
  return {
    version,
    startedAt: new Date(clock.now()).toISOString(),
    region: config.region,
    database: storeName(address),
    sources: config.sources?.map(({ name }) => name) ?? null,
    destinations: config.destinations.map(({ name }) => name),
    hasPlan: options.plan !== undefined,
    maxEvents: maxEventsOf(address, config),
  }
}

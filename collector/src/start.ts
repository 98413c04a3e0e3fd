import { AdminGate } from './auth/admin.ts'
import type { TokenServer } from './auth/tokens.ts'
import type { Clock } from './clock.ts'
import { RunningCollector } from './collector.ts'
import { ConfigError } from './config/config-error.ts'
import type { Config } from './config/schema.ts'
import { Faults } from './faults/rules.ts'
import type { Collector } from './handle.ts'
import { withoutBrackets } from './network-address.ts'
import { safeOnFault } from './on-fault.ts'
import { type CollectorOptions, checkAddress, DEFAULT_PORT, readConfig, readPlan } from './options.ts'
import { MEMORY } from './store/database.ts'
import { Store, type StoreOptions } from './store/store.ts'
import { systemClock } from './system-clock.ts'

const MAX_KEEP = 1_000_000

/**
 * Starts a collector.
 *
 * @throws ConfigError when a setting is invalid, the address is public, or the file cannot be used; the system's error when the port
 * is in use.
 */
export async function startCollector(options: CollectorOptions = {}): Promise<Collector> {
  const config = await readConfig(options.config)
  const host = withoutBrackets(options.host ?? '127.0.0.1')
  const isLocal = await checkAddress(host, options.allowPublic ?? false)
  const clock = options.clock ?? systemClock
  // All options are checked before anything is opened.
  const admin = new AdminGate(options.adminToken, isLocal)
  const faults = new Faults(clock)
  const plan = await readPlan(options.plan)
  const tokens = await createTokenServer(config, clock)
  const onFault = safeOnFault(options.onFault)
  const store = openStore(options, { clock, onFault })
  const running = new RunningCollector({
    ...{ config, store, clock, tokens, admin, faults, plan, isLocal, onFault },
  })
  try {
    await running.listen(options.port ?? DEFAULT_PORT, host, options.limits)
    if (options.log !== undefined) await running.attach(options.log)
  } catch (cause) {
    await running.close()
    throw cause
  }
  return running
}

/** @throws ConfigError when the file cannot be used. */
function openStore(
  { store: path = MEMORY, keep }: CollectorOptions,
  options: Omit<StoreOptions, 'path'>,
): Store {
  if (keep !== undefined && !(Number.isInteger(keep) && keep >= 1 && keep <= MAX_KEEP))
    throw new ConfigError(`keep: expected a whole number from 1 to ${MAX_KEEP}`)
  // SQLite would open a temporary file for an empty path, and take `file:` for a URL.
  if (path.trim() === '' || /^(?:file:|[a-z][a-z\d+.-]*:\/\/)/i.test(path))
    throw new ConfigError('store: expected the path of a file, or :memory:')
  return new Store({ ...options, path, keep })
}

async function createTokenServer(
  { oauth, publicUrl }: Config,
  clock: Clock,
): Promise<TokenServer | undefined> {
  if (oauth === undefined) return undefined
  const { TokenServer } = await import('./auth/tokens.ts')
  return new TokenServer(oauth, publicUrl, clock)
}

import { ConfigError } from './config/config-error.ts'
import type { Config } from './config/schema.ts'
import type { Drivers } from './drivers.ts'
import { isPostgres } from './store/address.ts'
import { version } from './version.ts'

interface Connections {
  store: string
  log?: string | undefined
  destinations?: Config['destinations']
}

/**
 * Checks, before anything is opened, that the package with the drivers for all servers is installed. A collector for one machine
 * does not need it.
 *
 * @throws ConfigError with the command that installs the package.
 */
export async function requireCluster({ store, log, destinations = [] }: Connections): Promise<void> {
  const uses: string[] = []
  if (isPostgres(store)) uses.push('a store on PostgreSQL')
  if (log !== undefined) uses.push('a log on NATS')
  if (destinations.some(({ type, enabled }) => type === 'clickhouse' && enabled))
    uses.push('a ClickHouse destination')
  if (uses.length > 0) await loadCluster(uses.join(' and '))
}

/**
 * @param use What the package is needed for.
 * @throws ConfigError with the command that installs the package.
 */
export async function loadCluster(use: string): Promise<Drivers> {
  const drivers = await importCluster(use)
  if (drivers.version === version) return drivers
  throw new ConfigError(
    `${use} needs trackpost-cluster ${version}, not ${drivers.version}: npm install trackpost-cluster@${version}`,
  )
}

async function importCluster(use: string): Promise<Drivers> {
  try {
    return await import('trackpost-cluster')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code !== 'ERR_MODULE_NOT_FOUND' || !message.includes("'trackpost-cluster'")) throw cause
    throw new ConfigError(`${use} needs another package: npm install trackpost-cluster@${version}`)
  }
}

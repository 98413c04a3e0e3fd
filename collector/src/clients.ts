import { createRequire } from 'node:module'
import { ConfigError } from './config/config-error.ts'
import type { Config } from './config/schema.ts'
import { isPostgres } from './store/address.ts'

interface Connections {
  store: string
  log?: string | undefined
  destinations?: Config['destinations']
}

/**
 * Checks, before anything is opened, that the client packages for all servers are installed. They are optional peer
 * dependencies: an installation without them is a third as large.
 *
 * @throws ConfigError with the command that installs the missing packages.
 */
export function requireClients({ store, log, destinations = [] }: Connections): void {
  const missing: string[] = []
  const uses: string[] = []
  const look = (use: string, ...packages: string[]) => {
    const absent = packages.filter((one) => !isInstalled(one.slice(0, one.lastIndexOf('@'))))
    if (absent.length === 0) return
    uses.push(use)
    missing.push(...absent)
  }
  if (isPostgres(store)) look('a store on PostgreSQL', 'pg@8')
  if (log !== undefined)
    look('a log on NATS', '@nats-io/transport-node@3.3', '@nats-io/jetstream@3.3', '@nats-io/kv@3.3')
  if (destinations.some(({ type, enabled }) => type === 'clickhouse' && enabled))
    look('a ClickHouse destination', '@clickhouse/client@1')
  if (missing.length > 0)
    throw new ConfigError(`${uses.join(' and ')} needs further packages: npm install ${missing.join(' ')}`)
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name)
    return true
  } catch {
    return false
  }
}

import { ConfigError } from 'trackpost-collector'
import type { Destination } from './destination.ts'

/** The name of a destination by the scheme of its URL, unless it was given another one. */
const NAMES: Readonly<Record<string, string>> = {
  'clickhouse:': 'ClickHouse',
  'clickhouses:': 'ClickHouse',
  'postgres:': 'PostgreSQL',
  'postgresql:': 'PostgreSQL',
  'http:': 'Webhook',
  'https:': 'Webhook',
  'file:': 'Files',
}

/** @throws ConfigError when the URL has another form. */
export function readDestination(address: string): { url: URL; name: string } {
  const url = URL.canParse(address) ? new URL(address) : undefined
  const name = url === undefined ? undefined : NAMES[url.protocol]
  if (url === undefined || name === undefined)
    throw new ConfigError('to: expected clickhouse://..., postgres://..., https://... or file:///...')
  return { url, name }
}

/**
 * Does not connect yet.
 *
 * @param headers Further headers of a webhook.
 * @throws ConfigError when the URL cannot be used.
 */
export async function openDestination(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<Destination> {
  // Each client is loaded only when it is needed.
  if (url.protocol.startsWith('clickhouse')) return new (await import('./clickhouse.ts')).ClickHouse(url)
  if (url.protocol.startsWith('postgres')) return new (await import('./postgres.ts')).Postgres(url)
  if (url.protocol === 'file:') return new (await import('./files.ts')).Files(url)
  return new (await import('./webhook.ts')).Webhook(url, headers)
}

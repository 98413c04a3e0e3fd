import type { Clock } from '../clock.ts'
import type { SharedLog } from './ports.ts'
import { LOG_DEFAULTS, type LogSettings } from './settings.ts'

/** What a log is opened with. */
export interface LogParts {
  settings: Partial<LogSettings> | undefined
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/**
 * Opens the log of an address, `nats://...`. One that is away is waited for in the background.
 *
 * @throws ConfigError when the address is wrong, or the log is there and cannot be used.
 */
export async function openLog(address: string, { settings, ...parts }: LogParts): Promise<SharedLog> {
  const { NatsLog } = await import('./nats/nats-log.ts')
  const log = new NatsLog({ ...parts, address, settings: { ...LOG_DEFAULTS, ...settings } })
  await log.open()
  return log
}

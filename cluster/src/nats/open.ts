import type { LogParts } from 'trackpost-collector/ports'
import { LOG_DEFAULTS, type LogSettings } from '../log/settings.ts'
import { NatsLog } from './nats-log.ts'

/**
 * Opens the log at an address such as `nats://host`. If the log is unavailable, keeps trying to connect in the background.
 *
 * @throws ConfigError when the address or the credentials cannot be used, or the log is available but cannot be used.
 */
export async function openLog(address: string, { settings, ...parts }: LogParts): Promise<NatsLog> {
  const log = new NatsLog({ ...parts, address, settings: withDefaults(settings) })
  await log.open()
  return log
}

function withDefaults(settings: LogParts['settings']): LogSettings {
  const given = Object.entries(settings ?? {}).filter(([, value]) => value !== undefined)
  return { ...LOG_DEFAULTS, ...Object.fromEntries(given) }
}

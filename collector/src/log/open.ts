import type { Clock } from '../clock.ts'
import { LogConsumer, type LogConsumerParts } from './log-consumer.ts'
import type { SharedLog } from './ports.ts'
import { LOG_DEFAULTS, type LogSettings } from './settings.ts'

export interface LogParts {
  /** The defaults of missing settings are `LOG_DEFAULTS`. */
  settings: { [K in keyof LogSettings]?: LogSettings[K] | undefined } | undefined
  clock: Clock
  onFault(what: string, cause: unknown): void
}

/**
 * Opens the log at an address such as `nats://host`. If the log is unavailable, keeps trying to connect in the background.
 *
 * @throws ConfigError when the address or the credentials cannot be used, or the log is available but cannot be used.
 */
export async function openLog(address: string, { settings, ...parts }: LogParts): Promise<SharedLog> {
  const { NatsLog } = await import('./nats/nats-log.ts')
  const log = new NatsLog({ ...parts, address, settings: withDefaults(settings) })
  await log.open()
  return log
}

export function newLogConsumer(parts: LogConsumerParts): LogConsumer {
  return new LogConsumer(parts)
}

function withDefaults(settings: LogParts['settings']): LogSettings {
  const given = Object.entries(settings ?? {}).filter(([, value]) => value !== undefined)
  return { ...LOG_DEFAULTS, ...Object.fromEntries(given) }
}

import {
  Analytics,
  type AnalyticsSettings,
  type Callback,
  type Kind,
  SettingsError,
  type Status,
} from 'trackpost'
import { NodeHTTPClient } from 'trackpost/node'
import { UsageError } from './errors.ts'
import { printable } from './output/text.ts'

export interface ClientListener {
  warn(text: string): void
  /** The client will send no request for `waitMs`. `status` contains the last error. */
  pause?(waitMs: number, status: Status): void
}

const PREFIX = /^trackpost: /

/**
 * The failure of an event is passed only to the callback of the event, and is not logged.
 *
 * @throws UsageError when a setting is invalid; the message names the setting.
 */
export function createClient(settings: AnalyticsSettings, listener: ClientListener): Analytics {
  const logger = {
    debug: () => {},
    info: (fields: object) => {
      const { waitMs } = fields as { waitMs?: number }
      if (waitMs !== undefined) listener.pause?.(waitMs, analytics.status)
    },
    warn: (fields: object, message: string) => {
      // An outage needs no warning: the callback of each event gets the error, and `pause` gets the waiting time.
      if ((fields as { code?: string }).code !== 'outage')
        listener.warn(printable(message.replace(PREFIX, '')))
    },
    error: () => {},
  }
  let analytics: Analytics
  try {
    analytics = new Analytics({ httpClient: new NodeHTTPClient(), logger, ...settings })
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message)
    throw error
  }
  analytics.on('error', () => {})
  return analytics
}

/** The compiler cannot check `params`, which the user has typed. The client checks them at run time. */
export function call(
  client: Analytics,
  kind: Kind,
  params: Readonly<Record<string, unknown>>,
  callback: Callback,
): void {
  const submit = client[kind] as (params: object, callback: Callback) => void
  submit(params, callback)
}

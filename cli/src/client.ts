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

/** Listener for the reports of a client, in addition to the outcomes of its events. */
export interface ClientListener {
  /** Called for a warning about something that lost no event. */
  warn(text: string): void
  /** Called when no request will be sent for `waitMs` milliseconds; `status` contains the last error. */
  pause?(waitMs: number, status: Status): void
}

const PREFIX = /^trackpost: /

/**
 * Makes a client of the SDK. Only callbacks get the failures.
 *
 * @throws UsageError when a setting is wrong; the message names it.
 */
export function createClient(settings: AnalyticsSettings, listener: ClientListener): Analytics {
  const logger = {
    debug: () => {},
    info: (fields: object) => {
      const { waitMs } = fields as { waitMs?: number }
      if (waitMs !== undefined) listener.pause?.(waitMs, analytics.status)
    },
    warn: (fields: object, message: string) => {
      // Outages are left out here: callbacks get the error of the service, and `pause` gets the wait.
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

/** Makes one of the six calls. The client checks the input of the command line or file at run time, instead of the types. */
export function call(
  client: Analytics,
  kind: Kind,
  params: Readonly<Record<string, unknown>>,
  callback: Callback,
): void {
  const submit = client[kind] as (params: object, callback: Callback) => void
  submit(params, callback)
}

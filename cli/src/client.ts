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

/** Reports of a client beside the outcomes of its events. */
export interface ClientListener {
  /** Something is doubtful, and cost no event. */
  warn(text: string): void
  /** No request is sent for this long, as `status` says. */
  pause?(waitMs: number, status: Status): void
}

const PREFIX = /^trackpost: /

/**
 * A client of the SDK. Failures are told to callbacks alone.
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
      // Callbacks tell what the service said, and a pause tells how long there is none.
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

/** Makes one of the six calls. What the command line or a file says is checked by the client, not by its types. */
export function call(
  client: Analytics,
  kind: Kind,
  params: Readonly<Record<string, unknown>>,
  callback: Callback,
): void {
  const submit = client[kind] as (params: object, callback: Callback) => void
  submit(params, callback)
}

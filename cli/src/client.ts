import {
  Analytics,
  type AnalyticsSettings,
  type Callback,
  type HTTPClient,
  type Kind,
  SettingsError,
  type Status,
} from 'trackpost'
import { NodeHTTPClient } from 'trackpost/node'
import { UsageError } from './errors.ts'
import { duration, printable } from './output/text.ts'

export interface ClientListener {
  warn(text: string): void
  /** The client will send no request for `waitMs`. `status` contains the last error. */
  pause?(waitMs: number, status: Status): void
  /** Whether the requests leave out `sentAt`, by which a service moves the times of events as if this clock were wrong. */
  readonly keepsTimes?: boolean
}

const PREFIX = /^trackpost: /
const MAX_SKEW_MS = 5_000

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
    analytics = new Analytics({ httpClient: createHTTPClient(listener), logger, ...settings })
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message)
    throw error
  }
  analytics.on('error', () => {})
  return analytics
}

function createHTTPClient({ keepsTimes, warn }: ClientListener): HTTPClient {
  const inner = new NodeHTTPClient()
  let isWarned = false
  const compareClocks = (aheadMs: number): void => {
    if (isWarned || Math.abs(aheadMs) <= MAX_SKEW_MS) return
    isWarned = true
    const side = aheadMs > 0 ? 'ahead of' : 'behind'
    warn(`the clock of this machine is ${duration(Math.abs(aheadMs))} ${side} that of the service`)
  }
  return {
    async makeRequest(request) {
      const body = keepsTimes === true ? request.body.replace(/,"sentAt":"[^"]*"\}$/, '}') : request.body
      const startMs = Date.now()
      const response = await inner.makeRequest({ ...request, body })
      const { date } = response.headers as Record<string, string | undefined>
      const serviceMs = Date.parse(date ?? '')
      if (!Number.isNaN(serviceMs)) compareClocks(aheadOf(serviceMs, startMs, Date.now()))
      return response
    },
  }
}

/** The `Date` header has whole seconds, and was written between the start and the end of the exchange. */
function aheadOf(serviceMs: number, startMs: number, endMs: number): number {
  if (serviceMs > endMs) return endMs - serviceMs
  return Math.max(0, startMs - (serviceMs + 1_000))
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

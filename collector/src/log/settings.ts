/** How the log is kept; what the config says under `log`. */
export interface LogSettings {
  /** Name of the stream; its subjects begin with it as well. */
  stream: string
  /** Servers that keep each message: 1, 3 or 5. */
  replicas: number
  /** Room for what waits, bytes. When it is full, fronts answer 503. */
  maxBytes: number
  /** Seconds for which the log knows a request that is sent again. The store knows its events for longer. */
  duplicateWindow: number
  /** File with the credentials of a NATS account. */
  credentialsFile?: string | undefined
}

/** The default of each setting. */
export const LOG_DEFAULTS: LogSettings = {
  stream: 'trackpost',
  replicas: 1,
  maxBytes: 4 * 1024 ** 3,
  duplicateWindow: 120,
}

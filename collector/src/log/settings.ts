/** The settings of the log: `log` in the config. */
export interface LogSettings {
  /** Name of the stream; its subjects begin with it as well. */
  stream: string
  /** Number of replicas, that is servers that store each message: 1, 3 or 5. */
  replicas: number
  /** Maximum number of bytes that wait in the log. When it is full, fronts respond with 503. */
  maxBytes: number
  /** Seconds for which the log recognises a repeated request. The store recognises repeated events for longer. */
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

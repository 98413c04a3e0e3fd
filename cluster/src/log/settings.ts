/** The settings of the log: the part `log` of the config. */
export interface LogSettings {
  /** Name of the NATS stream with the events. The names of the other streams and of the subjects begin with this name. */
  stream: string
  /** Number of servers that store each message: 1, 3 or 5. */
  replicas: 1 | 3 | 5
  /** Maximum size of the waiting events, bytes. When the log is full, processes that write to it respond with 503. */
  maxBytes: number
  /** Seconds for which the log recognises a repeated request. The store recognises repeated events later too. */
  duplicateWindow: number
  /** File with the credentials of a NATS account. */
  credentialsFile?: string | undefined
}

export const LOG_DEFAULTS: LogSettings = {
  stream: 'trackpost',
  replicas: 1,
  maxBytes: 4 * 1024 ** 3,
  duplicateWindow: 120,
}

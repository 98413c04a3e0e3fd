/** A source of events. Has exactly one of `writeKey` and `writeKeySha256`. */
export interface SourceInput {
  /** 1 to 200 characters; unique among the sources. */
  name: string
  /** The key in clear. Only its hash is compared. */
  writeKey?: string | undefined
  /** The SHA-256 of the key, 64 lower-case hexadecimal digits. */
  writeKeySha256?: string | undefined
  /** Default: the region of the collector. */
  region?: 'default' | 'eu' | undefined
  /** Requests a second, 1 to 1,000,000, instead of the general rate. */
  rate?: number | undefined
  /** Names of the destinations that are enabled; default: all. */
  destinations?: string[] | undefined
}

interface DestinationBase {
  /** 1 to 200 characters; unique among the destinations. */
  name: string
  /** Other names that `integrations` may use for it; default: none. */
  alternativeNames?: string[] | undefined
  /** Default true. */
  enabled?: boolean | undefined
  /** Whether events from the past (history imports) are wanted; default true. */
  pastData?: boolean | undefined
  /** From which age on an event counts as past, in hours; default 24. */
  pastAfterHours?: number | undefined
}

/** Appends one JSON object a line. */
export interface FileDestinationInput extends DestinationBase {
  type: 'file'
  /** Relative to the config file. */
  path: string
}

/** Posts each event to an address. */
export interface WebhookDestinationInput extends DestinationBase {
  type: 'webhook'
  /** http or https. */
  url: string
  /** Headers of each request; default: none. */
  headers?: Record<string, string> | undefined
  /** Requests in flight at a time, 1 to 256; default 8. */
  concurrency?: number | undefined
  /** Attempts until an event fails, 1 to 1,000; default 10. */
  maxAttempts?: number | undefined
  /**
   * Longest wait before the second attempt, milliseconds, 1 to 60,000; default 500. It doubles with each attempt, up to a minute,
   * and each wait is random, between half of it and all.
   */
  firstDelay?: number | undefined
  /** Longest wait for a response, milliseconds, 1 to 300,000; default 10,000. */
  timeout?: number | undefined
}

/** Inserts events into a table. Needs the package `@clickhouse/client` beside the collector. */
export interface ClickHouseDestinationInput extends DestinationBase {
  type: 'clickhouse'
  /** Address of the server's HTTP interface, without user, query and fragment. */
  url: string
  /** Default `default`. */
  database?: string | undefined
  /** Created if it does not exist; default `events`. */
  table?: string | undefined
  /** Default `default`. */
  username?: string | undefined
  /** Default: none. */
  password?: string | undefined
  /** Maximum number of events of a request, 1 to 10,000; default 1,000. */
  batchSize?: number | undefined
  /**
   * Least time between requests that are not full, milliseconds, 0 to 60,000; default 1,000. ClickHouse prefers few and large
   * requests.
   */
  interval?: number | undefined
  /**
   * Longest wait before the second attempt, milliseconds, 1 to 60,000; default 500. It doubles with each attempt, up to a minute.
   * The number of attempts has no limit.
   */
  firstDelay?: number | undefined
  /** Longest wait for a response, milliseconds, 1 to 300,000; default 30,000. */
  timeout?: number | undefined
}

/** An OAuth client. */
export interface ApplicationInput {
  clientId: string
  /** Keys that its assertions may be signed with, at least one; each has exactly one of `publicKey` and `publicKeyFile`. */
  keys: Array<{
    keyId: string
    /** PEM (SPKI). */
    publicKey?: string | undefined
    /** Path of a file with the public key, relative to the config file. */
    publicKeyFile?: string | undefined
  }>
  /** Default `['tracking_api:write']`. */
  scopes?: string[] | undefined
  /** Names of the sources it may write to; default: all. */
  sources?: string[] | undefined
}

/** Settings of the log, for collectors with `--log`. A stream that exists already keeps its own settings. */
export interface LogInput {
  /** Name of the stream and prefix of its subjects: 1 to 40 letters, digits, `-` and `_`; default `trackpost`. */
  stream?: string | undefined
  /** Number of servers that keep each event; default 1. */
  replicas?: 1 | 3 | 5 | undefined
  /** Maximum bytes that may wait in the log, at least 65,536; when it is full, responses are 503. */
  maxBytes?: number | undefined
  /** Seconds for which the log recognises a repeated request, 1 to 86,400. */
  duplicateWindow?: number | undefined
  /** Path of a file with the credentials of a NATS account. */
  credentialsFile?: string | undefined
}

/** The content of a config file. Unknown names are errors, so that a misspelt one is found at the start. */
export interface ConfigInput {
  /**
   * The region that this collector represents. Events of a source of another region are recorded as `wrong_region`. Default
   * `default`.
   */
  region?: 'default' | 'eu' | undefined
  /** Requests a second for each source, 1 to 1,000,000; default: no limit. */
  rate?: number | undefined
  /** Format of `Retry-After`; default `seconds`. */
  retryAfter?: 'seconds' | 'date' | undefined
  /** At least one; default: any write key is accepted, and is the name of its source. */
  sources?: SourceInput[] | undefined
  /**
   * Respond with 401 to a write key that no source has, instead of recording `unknown_write_key`; needs `sources`. Default false.
   */
  rejectUnknownKeys?: boolean | undefined
  /** Refuse a body whose `Content-Type` is not `application/json`, as the real service documents it. Default false. */
  strictContentType?: boolean | undefined
  /** Origins of pages that may send events, `*` = all; default: on loopback those of this machine, elsewhere none. */
  browserOrigins?: string[] | undefined
  /** The address at which clients reach this collector and others on the same store, such as that of a proxy in front of them. */
  publicUrl?: string | undefined
  /** Further host names that a collector on loopback accepts; default: none. */
  hostNames?: string[] | undefined
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed; default: none. */
  trustedProxies?: string[] | undefined
  /** Failed logins a minute from one address, after which only known credentials are accepted from it; default 300. */
  failedLoginsPerMinute?: number | undefined
  /** Where accepted events go; default: nowhere. */
  destinations?:
    | Array<FileDestinationInput | WebhookDestinationInput | ClickHouseDestinationInput>
    | undefined
  /** Issues access tokens for these applications; default: issues none. */
  oauth?:
    | {
        applications: ApplicationInput[]
        /** Lifetime of a token, seconds, 1 to 86,400; default 3600. */
        tokenLifetime?: number | undefined
        /** Further values of `aud` that an assertion may carry, in addition to the collector's own address and `publicUrl`. */
        audiences?: string[] | undefined
      }
    | undefined
  log?: LogInput | undefined
  /**
   * Whether events that were answered with 200 survive only the end of the process (`process`, the default), or also a power
   * cut (`power`). For SQLite files.
   */
  durability?: 'process' | 'power' | undefined
  /** Seconds for which a messageId is remembered; default: for ever. */
  dedupWindow?: number | undefined
  /** Maximum number of events that are kept; default: 10,000,000 in a file, no limit on PostgreSQL. */
  maxEvents?: number | undefined
  /** Days for which events are kept, 1 to 36,500; default: for ever in a file, 30 on PostgreSQL. */
  retentionDays?: number | undefined
  /** Maximum bytes of the database, at least 65,536; default: no limit but the disk. For SQLite files. */
  maxDatabaseBytes?: number | undefined
}

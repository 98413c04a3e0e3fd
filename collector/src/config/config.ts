/** One who sends events. Exactly one of `writeKey` and `writeKeySha256` is given. */
export interface SourceInput {
  /** 1 to 200 characters; unique among the sources. */
  name: string
  /** The key in clear. Only its hash is kept in memory. */
  writeKey?: string | undefined
  /** The SHA-256 of the key, 64 lower-case hexadecimal digits. */
  writeKeySha256?: string | undefined
  /** Default: the region of the collector. */
  region?: 'default' | 'eu' | undefined
  /** Requests a second, 1 to 1,000,000, in place of the general rate. */
  rate?: number | undefined
  /** Names of the destinations that are enabled; default: all. */
  destinations?: string[] | undefined
}

interface DestinationBase {
  /** 1 to 200 characters; unique among the destinations. */
  name: string
  /** Other names under which `integrations` may switch it; default: none. */
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
  /** Requests under way at a time, 1 to 256; default 8. */
  concurrency?: number | undefined
  /** Attempts before an event is given up, 1 to 1,000; default 10. */
  maxAttempts?: number | undefined
  /**
   * Longest wait before the second attempt, milliseconds, 1 to 60,000; default 500. It doubles from there to a minute, and each is drawn from
   * its upper half.
   */
  firstDelay?: number | undefined
  /** Longest wait for a response, milliseconds, 1 to 300,000; default 10,000. */
  timeout?: number | undefined
}

/** Inserts events into a table. Needs the package `@clickhouse/client` beside the collector. */
export interface ClickHouseDestinationInput extends DestinationBase {
  type: 'clickhouse'
  /** The HTTP interface of the server, without user, query and fragment. */
  url: string
  /** Default `default`. */
  database?: string | undefined
  /** Made when it is absent; default `events`. */
  table?: string | undefined
  /** Default `default`. */
  username?: string | undefined
  /** Default: none. */
  password?: string | undefined
  /** Most events of a request, 1 to 10,000; default 1,000. */
  batchSize?: number | undefined
  /** Least time between requests that are not full, milliseconds, 0 to 60,000; default 1,000. ClickHouse likes few and large ones. */
  interval?: number | undefined
  /** Longest wait before the second attempt, milliseconds, 1 to 60,000; default 500. It doubles from there to a minute, and there is always another one. */
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

/** How the log is kept; for collectors with `--log`. What was set for a stream that is there already holds. */
export interface LogInput {
  /** Name of the stream, and what its subjects begin with: 1 to 40 letters, digits, `-` and `_`; default `trackpost`. */
  stream?: string | undefined
  /** Servers that keep each event; default 1. */
  replicas?: 1 | 3 | 5 | undefined
  /** Room for what waits, bytes, at least 65,536; when it is full, 503 is answered. */
  maxBytes?: number | undefined
  /** Seconds for which the log knows a request that is sent again, 1 to 86,400. */
  duplicateWindow?: number | undefined
  /** The credentials of a NATS account, a file. */
  credentialsFile?: string | undefined
}

/** The config file as it is written. Unknown names are errors, so that a misspelt one is found at the start. */
export interface ConfigInput {
  /** The region this collector stands for; a source of another one is recorded as `wrong_region`. Default `default`. */
  region?: 'default' | 'eu' | undefined
  /** Requests a second for each source, 1 to 1,000,000; default: no limit. */
  rate?: number | undefined
  /** How `Retry-After` is written; default `seconds`. */
  retryAfter?: 'seconds' | 'date' | undefined
  /** At least one; default: any write key is a source of that name. */
  sources?: SourceInput[] | undefined
  /** Answer 401 to a write key that no source has, in place of recording `unknown_write_key`; needs `sources`. Default false. */
  rejectUnknownKeys?: boolean | undefined
  /** Refuse a body that is not announced as `application/json`, as the real service documents it. Default false. */
  strictContentType?: boolean | undefined
  /** Origins of pages that may send events, `*` = all; default: on loopback those of this machine, elsewhere none. */
  browserOrigins?: string[] | undefined
  /** The address under which clients reach this collector, and others on the same store: that of a proxy in front of them. */
  publicUrl?: string | undefined
  /** Further names under which a collector on loopback is asked for; default: none. */
  hostNames?: string[] | undefined
  /** Addresses and networks of proxies whose `X-Forwarded-For` is believed; default: none. */
  trustedProxies?: string[] | undefined
  /** Failed logins a minute from one address before only known credentials are taken from it; default 300. */
  failedLoginsPerMinute?: number | undefined
  /** Where accepted events go; default: nowhere. */
  destinations?:
    | Array<FileDestinationInput | WebhookDestinationInput | ClickHouseDestinationInput>
    | undefined
  /** Makes access tokens for these applications; default: none are made. */
  oauth?:
    | {
        applications: ApplicationInput[]
        /** Life time of a token, seconds, 1 to 86,400; default 3600. */
        tokenLifetime?: number | undefined
        /** Further values of `aud` that an assertion may carry, in addition to the collector's own address and `publicUrl`. */
        audiences?: string[] | undefined
      }
    | undefined
  log?: LogInput | undefined
  /** Whether a 200 outlives the end of the process (default), or a loss of power too. Of a file. */
  durability?: 'process' | 'power' | undefined
  /** Seconds for which a messageId is remembered; default: for ever. */
  dedupWindow?: number | undefined
  /** Events kept; default: 10,000,000 in a file, on PostgreSQL as many as come. */
  maxEvents?: number | undefined
  /** Days for which events are kept, 1 to 36,500; default: for ever in a file, 30 on PostgreSQL. */
  retentionDays?: number | undefined
  /** Size at which the database refuses to grow, bytes, at least 65,536; default: as large as the disk. Of a file. */
  maxDatabaseBytes?: number | undefined
}

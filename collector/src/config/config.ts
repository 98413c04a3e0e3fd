/** A source of events. Has exactly one of `writeKey` and `writeKeySha256`. */
export interface SourceInput {
  /** 1 to 200 characters; unique among the sources. */
  name: string
  /** The write key in plain text, or up to two, so that one can be replaced by the other. They are compared only by their hashes. */
  writeKey?: string | string[] | undefined
  /** The SHA-256 hash of the write key, or up to two: 64 lower-case hexadecimal digits. */
  writeKeySha256?: string | string[] | undefined
  /** Maximum requests per second, 1 to 1,000,000. Replaces the general `rate`. */
  rate?: number | undefined
  /** Names of the destinations that get the events of this source; default: all. */
  destinations?: string[] | undefined
}

interface DestinationBase {
  /** 1 to 200 characters; unique among the destinations. */
  name: string
  /** Other names that `integrations` may use for this destination; default: none. */
  alternativeNames?: string[] | undefined
  /** Default true. */
  enabled?: boolean | undefined
  /** Whether the destination gets events from the past (more than 24 hours old), for example imported ones; default true. */
  pastData?: boolean | undefined
}

/** Appends events to a file, one JSON object per line. */
export interface FileDestinationInput extends DestinationBase {
  type: 'file'
  /** Path of the file, relative to the config file. */
  path: string
}

/** Sends each event to a URL in a POST request. */
export interface WebhookDestinationInput extends DestinationBase {
  type: 'webhook'
  /** An `http:` or `https:` URL. */
  url: string
  /** Additional headers of each request; default: none. */
  headers?: Record<string, string> | undefined
  /** Maximum requests in flight at the same time, 1 to 256; default 8. */
  concurrency?: number | undefined
  /** Maximum attempts for each event, 1 to 1,000; default: no limit. */
  maxAttempts?: number | undefined
  /**
   * Longest wait before the second attempt, in milliseconds, 1 to 60,000; default 500. The longest wait doubles with each
   * attempt, up to a minute. The actual wait is random, between half of the longest wait and all of it.
   */
  firstDelay?: number | undefined
  /** Longest wait for a response, in milliseconds, 1 to 300,000; default 10,000. */
  timeout?: number | undefined
}

/** An OAuth client. */
export interface ApplicationInput {
  clientId: string
  /** At least one public key for the assertions of the client, as PEM (SPKI). */
  keys: Array<{ keyId: string; publicKey: string }>
}

/** The content of a config file. Unknown names are errors, so that a misspelt name is found at the start. */
export interface ConfigInput {
  /** Maximum requests per second for each source, 1 to 1,000,000; default: no limit. */
  rate?: number | undefined
  /** At least one source. Default: any write key of at most 200 characters is accepted, and the write key is the name of its source. */
  sources?: SourceInput[] | undefined
  /**
   * Whether an unknown write key is refused with status 401. Otherwise its events are recorded as `unknown_write_key`.
   * Needs `sources`; default false.
   */
  rejectUnknownKeys?: boolean | undefined
  /**
   * Whether a body is refused if its `Content-Type` is not `application/json`, as the real service documents it; default false.
   */
  strictContentType?: boolean | undefined
  /**
   * Origins of web pages that may send events, `*` for all. Default on loopback: the origins of this machine; otherwise none.
   */
  browserOrigins?: string[] | undefined
  /** URL at which clients reach this collector, for example the URL of a proxy. */
  publicUrl?: string | undefined
  /** Additional host names that a collector on loopback accepts; default: none. */
  hostNames?: string[] | undefined
  /** Addresses and networks of proxies whose `X-Forwarded-For` header is trusted; default: none. */
  trustedProxies?: string[] | undefined
  /** Destinations of the accepted events; default: none. */
  destinations?: Array<FileDestinationInput | WebhookDestinationInput> | undefined
  /** Applications to which the collector issues access tokens; default: none. */
  oauth?:
    | {
        applications: ApplicationInput[]
        /** Lifetime of a token in seconds, 1 to 86,400; default 3600. */
        tokenLifetime?: number | undefined
      }
    | undefined
}

import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isAddressOrNetwork } from '../http/address.ts'

const name = z.string().min(1).max(200)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hexadecimal digits')
const region = z.enum(['default', 'eu'])
const rate = z.number().int().min(1).max(1_000_000)
const httpUrl = z.url({ protocol: /^https?$/ })

/** Whether an address is nothing but one. */
function isBare(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, search, hash } = new URL(text)
  return `${username}${password}${search}${hash}` === ''
}

const publicUrl = httpUrl.refine(
  isBare,
  'expected an address like https://events.example.com, without user, query and fragment',
)

const browserOrigin = z
  .string()
  .refine(
    (text) => text === '*' || text === 'null' || (URL.canParse(text) && isOrigin(new URL(text), text)),
    'expected an origin like https://shop.example, or *',
  )

/** Schemes of mobile shells (`capacitor://localhost`) have no origin by the letter of the URL standard. */
function isOrigin(url: URL, text: string): boolean {
  return url.origin === text || (url.origin === 'null' && /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*$/.test(text))
}

const source = z
  .strictObject({
    name,
    /** The key in clear, or its SHA-256; one of the two. Only the hash is kept in memory. */
    writeKey: z.string().min(1).optional(),
    writeKeySha256: sha256.optional(),
    region: region.optional(),
    /** Requests a second, in place of the general rate. */
    rate: rate.optional(),
    /** Names of the destinations that are enabled; default: all. */
    destinations: z.array(name).optional(),
  })
  .refine((value) => (value.writeKey === undefined) !== (value.writeKeySha256 === undefined), {
    message: 'expected exactly one of writeKey and writeKeySha256',
  })

const destinationBase = {
  name,
  /** Other names under which `integrations` may switch it. */
  alternativeNames: z.array(name).default([]),
  enabled: z.boolean().default(true),
  /** Whether events from the past (history imports) are wanted. */
  pastData: z.boolean().default(true),
  /** From which age on an event counts as past, in hours. */
  pastAfterHours: z.number().positive().default(24),
}

/** A name that needs no quotes in any statement. */
const identifier = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,99}$/, 'expected letters, digits and _, no digit first')

const serverUrl = httpUrl.refine(
  isBare,
  'expected an address like https://clickhouse.example.com:8443, with username, password and database as settings of their own',
)

const destination = z.discriminatedUnion('type', [
  z.strictObject({ ...destinationBase, type: z.literal('file'), path: z.string().min(1) }),
  z.strictObject({
    ...destinationBase,
    type: z.literal('webhook'),
    url: httpUrl,
    headers: z.record(z.string(), z.string()).default({}),
    /** Requests under way at a time. */
    concurrency: z.number().int().min(1).max(256).default(8),
    /** Attempts before an event is given up. */
    maxAttempts: z.number().int().min(1).max(1000).default(10),
    /** Longest wait before the second attempt, milliseconds; doubles from there to a minute. Each is drawn from its upper half. */
    firstDelay: z.number().int().min(1).max(60_000).default(500),
    /** Longest wait for an answer, milliseconds. */
    timeout: z.number().int().min(1).max(300_000).default(10_000),
  }),
  z.strictObject({
    ...destinationBase,
    type: z.literal('clickhouse'),
    /** The HTTP interface of the server. */
    url: serverUrl,
    database: identifier.default('default'),
    /** Made when it is absent. */
    table: identifier.default('events'),
    username: z.string().min(1).default('default'),
    password: z.string().default(''),
    /** Most events of a request. */
    batchSize: z.number().int().min(1).max(10_000).default(1000),
    /** Least time between requests that are not full, milliseconds: ClickHouse likes few and large ones. */
    interval: z.number().int().min(0).max(60_000).default(1000),
    /** Longest wait before the second attempt, milliseconds; doubles from there to a minute, and there is always another one. */
    firstDelay: z.number().int().min(1).max(60_000).default(500),
    /** Longest wait for an answer, milliseconds. */
    timeout: z.number().int().min(1).max(300_000).default(30_000),
  }),
])

const application = z.strictObject({
  clientId: z.string().min(1),
  keys: z
    .array(
      z
        .strictObject({
          keyId: z.string().min(1),
          /** The public key, PEM (SPKI), or the path of a file with it, relative to the config file. */
          publicKey: z.string().min(1).optional(),
          publicKeyFile: z.string().min(1).optional(),
        })
        .refine((key) => (key.publicKey === undefined) !== (key.publicKeyFile === undefined), {
          message: 'expected exactly one of publicKey and publicKeyFile',
        }),
    )
    .min(1),
  scopes: z.array(z.string().min(1)).default(['tracking_api:write']),
  /** Names of the sources it may write to; default: all. */
  sources: z.array(name).optional(),
})

const oauth = z.strictObject({
  applications: z.array(application).min(1),
  /** Life time of a token, seconds. */
  tokenLifetime: z.number().int().min(1).max(86_400).default(3600),
  /** Further values of `aud` that an assertion may carry, in addition to the collector's own address and `publicUrl`. */
  audiences: z.array(z.string().min(1)).default([]),
})

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

function repeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index)
}

const log = z.strictObject({
  /** Name of the stream, and what its subjects begin with. */
  stream: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,40}$/, 'expected letters, digits, - and _')
    .optional(),
  /** Servers that keep each event. */
  replicas: z.literal([1, 3, 5]).optional(),
  /** Room for what waits, bytes; when it is full, fronts answer 503. */
  maxBytes: z.number().int().min(65_536).optional(),
  /** Seconds for which the log knows a request that is sent again. */
  duplicateWindow: z.number().min(1).max(86_400).optional(),
  /** The credentials of a NATS account, a file. */
  credentialsFile: z.string().min(1).optional(),
})

/** The config file. Unknown names are errors, so that a misspelt one is found at the start. */
export const configSchema = z
  .strictObject({
    /** The region this collector stands for; a source of another one is recorded as `wrong_region`. */
    region: region.default('default'),
    /** Requests a second for each source; default: no limit. */
    rate: rate.optional(),
    /** How `Retry-After` is written. */
    retryAfter: z.enum(['seconds', 'date']).default('seconds'),
    /** Default: any write key is a source of that name. */
    sources: z.array(source).min(1).optional(),
    /** Answer 401 to a write key that no source has, in place of recording `unknown_write_key`. */
    rejectUnknownKeys: z.boolean().default(false),
    /** Refuse a body that is not announced as `application/json`, as the real service documents it. */
    strictContentType: z.boolean().default(false),
    /** Origins of pages that may send events, `*` = all; default: on loopback those of this machine, elsewhere none. */
    browserOrigins: z.array(browserOrigin).optional(),
    /** The address under which clients reach this collector, and others on the same store: that of a proxy in front of them. */
    publicUrl: publicUrl.optional(),
    /** Further names under which a collector on loopback is asked for. */
    hostNames: z.array(z.string().min(1)).default([]),
    /** Addresses and networks of proxies whose `X-Forwarded-For` is believed. */
    trustedProxies: z
      .array(z.string().refine(isAddressOrNetwork, 'expected an address or a network like 10.0.0.0/8'))
      .default([]),
    /** Failed logins a minute from one address before only known credentials are taken from it. */
    failedLoginsPerMinute: z.number().int().min(1).default(300),
    destinations: z.array(destination).default([]),
    oauth: oauth.optional(),
    /** How the log is kept; for collectors with `--log`. */
    log: log.optional(),
    durability: z.enum(['process', 'power']).default('process'),
    /** Seconds for which a messageId is remembered; default: for ever. */
    dedupWindow: z.number().positive().optional(),
    /** Events kept; default: 10,000,000 in a file, on PostgreSQL as many as come. */
    maxEvents: z.number().int().min(1).optional(),
    /** Days for which events are kept; default: for ever in a file, 30 on PostgreSQL. */
    retentionDays: z.number().int().min(1).max(36_500).optional(),
    /** Size at which the database refuses to grow, bytes; default: as large as the disk. */
    maxDatabaseBytes: z.number().int().min(65_536).optional(),
  })
  .superRefine((config, context) => {
    const problem = (message: string, ...path: Array<string | number>) =>
      context.addIssue({ code: 'custom', message, path })
    if (config.rejectUnknownKeys && config.sources === undefined) {
      problem('needs sources: without them every key is known', 'rejectUnknownKeys')
    }
    const sourceNames = config.sources?.map((one) => one.name) ?? []
    const destinationNames = config.destinations.map((one) => one.name)
    const twice = repeated(sourceNames) ?? repeated(destinationNames)
    if (twice !== undefined) problem(`the name ${JSON.stringify(twice)} is used twice`)
    const keys = config.sources?.map((one) => one.writeKeySha256 ?? digest(one.writeKey ?? '')) ?? []
    for (const [index, key] of keys.entries()) {
      const first = keys.indexOf(key)
      if (first === index) continue
      problem(`has the write key of ${JSON.stringify(sourceNames[first])}`, 'sources', index)
    }
    for (const [index, one] of (config.sources ?? []).entries()) {
      for (const wanted of one.destinations ?? []) {
        if (!destinationNames.includes(wanted)) {
          problem(`no destination is named ${JSON.stringify(wanted)}`, 'sources', index, 'destinations')
        }
      }
    }
    const clientIds = config.oauth?.applications.map((one) => one.clientId) ?? []
    const twiceId = repeated(clientIds)
    if (twiceId !== undefined) problem(`the clientId ${JSON.stringify(twiceId)} is used twice`, 'oauth')
  })

/** The config file with every default filled in. */
export type Config = z.output<typeof configSchema>
/** The config file as it is written. */
export type ConfigInput = z.input<typeof configSchema>
export type SourceConfig = z.output<typeof source>
export type DestinationConfig = z.output<typeof destination>
export type ApplicationConfig = z.output<typeof application>

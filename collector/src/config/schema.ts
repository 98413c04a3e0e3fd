import { createHash } from 'node:crypto'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import * as z from 'zod'
import { isAddressOrNetwork } from '../network-address.ts'

const name = z.string().min(1).max(200)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hexadecimal digits')
const region = z.enum(['default', 'eu'])
const rate = z.number().int().min(1).max(1_000_000)
const httpUrl = z.url({ protocol: /^https?$/ })

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

/** In the URL standard, schemes of mobile apps (`capacitor://localhost`) have the origin `null`. */
function isOrigin(url: URL, text: string): boolean {
  return url.origin === text || (url.origin === 'null' && /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*$/.test(text))
}

/** Two, so that a key can be replaced: programs move from one to the other, and then the old one is removed. */
function oneOrTwo(key: z.ZodString) {
  return z.union([key, z.array(key).min(1).max(2)]).optional()
}

const source = z
  .strictObject({
    name,
    writeKey: oneOrTwo(z.string().min(1)),
    writeKeySha256: oneOrTwo(sha256),
    region: region.optional(),
    rate: rate.optional(),
    destinations: z.array(name).optional(),
  })
  .refine((value) => (value.writeKey === undefined) !== (value.writeKeySha256 === undefined), {
    message: 'expected exactly one of writeKey and writeKeySha256',
  })

const destinationBase = {
  name,
  alternativeNames: z.array(name).default([]),
  enabled: z.boolean().default(true),
  pastData: z.boolean().default(true),
}

function hasReadableUser(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  try {
    decodeURIComponent(`${username} ${password}`)
    return true
  } catch {
    return false
  }
}

const headers = z.record(z.string(), z.string()).superRefine((values, context) => {
  for (const [header, value] of Object.entries(values)) {
    try {
      validateHeaderName(header)
      validateHeaderValue(header, value)
    } catch (cause) {
      context.addIssue({ code: 'custom', message: (cause as Error).message, path: [header] })
    }
  }
})

const destination = z.discriminatedUnion('type', [
  z.strictObject({ ...destinationBase, type: z.literal('file'), path: z.string().min(1) }),
  z.strictObject({
    ...destinationBase,
    type: z.literal('webhook'),
    url: httpUrl.refine(hasReadableUser, 'expected a user and a password that are percent-encoded'),
    headers: headers.default({}),
    concurrency: z.number().int().min(1).max(256).default(8),
    maxAttempts: z.number().int().min(1).max(1000).optional(),
    firstDelay: z.number().int().min(1).max(60_000).default(500),
    timeout: z.number().int().min(1).max(300_000).default(10_000),
  }),
])

const application = z.strictObject({
  clientId: z.string().min(1),
  keys: z.array(z.strictObject({ keyId: z.string().min(1), publicKey: z.string().min(1) })).min(1),
})

const oauth = z.strictObject({
  applications: z.array(application).min(1),
  tokenLifetime: z.number().int().min(1).max(86_400).default(3600),
})

function digest(secret: string): string {
  return createHash('sha256').update(secret).digest('hex')
}

function repeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index)
}

/** `config.ts` repeats the types of the input by hand, so that users do not need the types of the validation library. */
export const configSchema = z
  .strictObject({
    region: region.default('default'),
    rate: rate.optional(),
    sources: z.array(source).min(1).optional(),
    rejectUnknownKeys: z.boolean().default(false),
    strictContentType: z.boolean().default(false),
    browserOrigins: z.array(browserOrigin).optional(),
    publicUrl: publicUrl.optional(),
    hostNames: z.array(z.string().min(1)).default([]),
    trustedProxies: z
      .array(z.string().refine(isAddressOrNetwork, 'expected an address or a network like 10.0.0.0/8'))
      .default([]),
    destinations: z.array(destination).default([]),
    oauth: oauth.optional(),
    dedupWindow: z.number().positive().optional(),
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
    const owners = new Map<string, string>()
    for (const [index, { name, writeKey = [], writeKeySha256 = [] }] of (config.sources ?? []).entries()) {
      for (const key of [...[writeKey].flat().map(digest), ...[writeKeySha256].flat()]) {
        const owner = owners.get(key)
        if (owner !== undefined) problem(`has the write key of ${JSON.stringify(owner)}`, 'sources', index)
        owners.set(key, name)
      }
    }
    for (const [index, one] of (config.sources ?? []).entries()) {
      for (const wanted of one.destinations ?? []) {
        if (!destinationNames.includes(wanted)) {
          problem(`no destination is named ${JSON.stringify(wanted)}`, 'sources', index, 'destinations')
        }
      }
    }
    for (const [index, one] of config.destinations.entries()) {
      if (one.type !== 'webhook' || new URL(one.url).username === '') continue
      if (Object.keys(one.headers).some((header) => header.toLowerCase() === 'authorization'))
        problem('has a user beside the header Authorization: set one of them', 'destinations', index, 'url')
    }
    const clientIds = config.oauth?.applications.map((one) => one.clientId) ?? []
    const twiceId = repeated(clientIds)
    if (twiceId !== undefined) problem(`the clientId ${JSON.stringify(twiceId)} is used twice`, 'oauth')
  })

/** A configuration with all defaults filled in. */
export type Config = z.output<typeof configSchema>
export type DestinationConfig = z.output<typeof destination>
export type ApplicationConfig = z.output<typeof application>

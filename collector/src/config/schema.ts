import * as z from 'zod'
import { isAddressOrNetwork } from '../network-address.ts'

const name = z.string().min(1).max(200)
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'expected 64 lower-case hexadecimal digits')
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

const destination = z.discriminatedUnion('type', [
  z.strictObject({ ...destinationBase, type: z.literal('file'), path: z.string().min(1) }),
  z.strictObject({
    ...destinationBase,
    type: z.literal('webhook'),
    url: httpUrl,
    headers: z.record(z.string(), z.string()).default({}),
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

function repeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) !== index)
}

/** `config.ts` repeats the types of the input by hand, so that users do not need the types of the validation library. */
export const configSchema = z
  .strictObject({
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
  })
  .superRefine((config, context) => {
    const problem = (message: string, ...path: Array<string | number>) =>
      context.addIssue({ code: 'custom', message, path })
    if (config.rejectUnknownKeys && config.sources === undefined) {
      problem('needs sources: without them every key is known', 'rejectUnknownKeys')
    }
    const sourceNames = config.sources?.map((one) => one.name) ?? []
    const destinationNames = config.destinations.map((one) => one.name)
    const clientIds = config.oauth?.applications.map((one) => one.clientId) ?? []
    const twice = repeated(sourceNames) ?? repeated(destinationNames) ?? repeated(clientIds)
    if (twice !== undefined) problem(`the name ${JSON.stringify(twice)} is used twice`)
    for (const [index, one] of (config.sources ?? []).entries()) {
      for (const wanted of one.destinations ?? []) {
        if (!destinationNames.includes(wanted)) {
          problem(`no destination is named ${JSON.stringify(wanted)}`, 'sources', index, 'destinations')
        }
      }
    }
  })

/** A configuration with all defaults filled in. */
export type Config = z.output<typeof configSchema>
export type DestinationConfig = z.output<typeof destination>
export type ApplicationConfig = z.output<typeof application>

import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import type { Collector } from '../../src/index.ts'

/** The key pair of the application. */
export const ours = generateKeyPairSync('rsa', { modulusLength: 2048 })
export const publicPem = ours.publicKey.export({ type: 'spki', format: 'pem' }).toString()
export const privatePem = ours.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

/** A config with two sources and an application. */
export const config = {
  sources: [
    { name: 'shop', writeKey: 'shop-key' },
    { name: 'blog', writeKey: 'blog-key' },
  ],
  oauth: {
    tokenLifetime: 60,
    applications: [
      {
        clientId: 'app',
        keys: [{ keyId: 'k1', publicKey: publicPem }],
      },
    ],
  },
}

export const startMs = Date.UTC(2026, 4, 17, 9, 30)

/** Changes to an otherwise valid assertion. */
export interface AssertionParts {
  claims?: Record<string, unknown>
  header?: Record<string, unknown>
  key?: Parameters<SignJWT['sign']>[0]
  /** Milliseconds since the epoch; default: the start of the fake clock. */
  nowMs?: number
}

export function assertion(
  collector: Pick<Collector, 'url'>,
  { claims, header, key, nowMs = startMs }: AssertionParts = {},
): Promise<string> {
  const nowSeconds = Math.floor(nowMs / 1000)
  const all = {
    iss: 'app',
    sub: 'app',
    aud: collector.url,
    iat: nowSeconds,
    exp: nowSeconds + 60,
    jti: randomUUID(),
    ...claims,
  }
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new SignJWT(given)
    .setProtectedHeader({ alg: 'RS256', kid: 'k1', ...header })
    .sign(key ?? ours.privateKey)
}

export async function requestToken(
  collector: Pick<Collector, 'url'>,
  client_assertion: string,
  form: Record<string, string> = {},
) {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion,
    scope: 'tracking_api:write',
    ...form,
  })
  const response = await fetch(`${collector.url}/token`, { method: 'POST', body })
  const answer = (await response.json()) as { access_token?: string; error_description?: string }
  return { status: response.status, ...answer }
}

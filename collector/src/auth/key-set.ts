import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
} from 'node:crypto'
import * as z from 'zod'

/** A stored key: DER, encoded as Base64. */
const der = z.base64().min(1)

const kept = z.object({
  format: z.literal(1),
  signing: z.object({ id: z.string().min(1), privateKey: der, madeAtMs: z.number() }),
  /** Public keys of earlier signing keys, with which older tokens are verified. */
  earlier: z.array(z.object({ id: z.string().min(1), publicKey: der, untilMs: z.number() })),
  /** Ids of revoked keys, the oldest first. */
  revoked: z.array(z.string()),
})

/** The keys as they are stored. */
export type KeptKeys = z.output<typeof kept>

/** The keys, ready to be used. */
export interface TokenKeys {
  readonly signing: { readonly id: string; readonly privateKey: KeyObject; readonly madeAtMs: number }
  /** Public keys that verify tokens, by key id. */
  readonly checking: ReadonlyMap<string, KeyObject>
  readonly revoked: ReadonlySet<string>
}

/** Longest lifetime of a token that the configuration allows. An earlier key has to be kept for this long. */
const MAX_TOKEN_LIFETIME_MS = 86_400_000
/** While a revoked key is remembered, its tokens are reported as expired; later, as invalid. */
const MAX_REVOKED = 100

/** Creates the first key, or a key that replaces and revokes all earlier keys. */
export function newKeys(nowMs: number, before?: KeptKeys): KeptKeys {
  const ids = before === undefined ? [] : [...before.earlier, before.signing].map(({ id }) => id)
  const revoked = [...(before?.revoked ?? []), ...ids].slice(-MAX_REVOKED)
  return { format: 1, signing: newSigningKey(nowMs), earlier: [], revoked }
}

/** Creates a new signing key. The earlier keys still verify tokens, until the last of these tokens has expired. */
export function rotated(before: KeptKeys, nowMs: number): KeptKeys {
  const { id, privateKey } = before.signing
  const publicKey = createPublicKey(privateKeyOf(privateKey)).export({ type: 'spki', format: 'der' })
  const retired = { id, publicKey: publicKey.toString('base64'), untilMs: nowMs + MAX_TOKEN_LIFETIME_MS }
  const earlier = [...before.earlier.filter(({ untilMs }) => untilMs > nowMs), retired]
  return { ...before, signing: newSigningKey(nowMs), earlier }
}

function newSigningKey(madeAtMs: number): KeptKeys['signing'] {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const bytes = privateKey.export({ type: 'pkcs8', format: 'der' })
  return { id: randomUUID(), privateKey: bytes.toString('base64'), madeAtMs }
}

function privateKeyOf(base64: string): KeyObject {
  return createPrivateKey({ key: Buffer.from(base64, 'base64'), type: 'pkcs8', format: 'der' })
}

export function printKeys(keys: KeptKeys): string {
  return JSON.stringify(keys)
}

/** @throws when the text is not a stored set of keys. The error quotes no part of the text, because the text is secret. */
export function readKeys(text: string): KeptKeys {
  const { data } = kept.safeParse(parsed(text))
  if (data !== undefined) return data
  throw new Error(
    'the stored keys of tokens cannot be read: were they changed, or made by a newer collector?',
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @throws when a key cannot be used. The error quotes no part of a key. */
export function usableKeys({ signing, earlier, revoked }: KeptKeys): TokenKeys {
  try {
    const privateKey = privateKeyOf(signing.privateKey)
    const checking = new Map([[signing.id, createPublicKey(privateKey)]])
    for (const { id, publicKey } of earlier) {
      const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), type: 'spki', format: 'der' })
      checking.set(id, key)
    }
    const { id, madeAtMs } = signing
    return { signing: { id, privateKey, madeAtMs }, checking, revoked: new Set(revoked) }
  } catch {
    throw new Error('the stored keys of tokens cannot be used: were they changed?')
  }
}

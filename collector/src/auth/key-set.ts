import { createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import * as z from 'zod'

const SECRET_BYTES = 32

const kept = z.object({
  format: z.literal(1),
  /** The key in Base64. */
  signing: z.object({ id: z.string().min(1), secret: z.base64().min(1) }),
  /** Ids of revoked keys, the oldest first. */
  revoked: z.array(z.string()),
})

/** The key as it is stored: every process that signs tokens also checks them, with the same secret. */
export type KeptKeys = z.output<typeof kept>

/** The key, ready to be used. */
export interface TokenKeys {
  readonly id: string
  readonly secret: KeyObject
  readonly revoked: ReadonlySet<string>
}

/** While a revoked key is remembered, its tokens are reported as expired; later, as invalid. */
const MAX_REVOKED = 100

/** Creates the first key, or a key that replaces and revokes the one before. */
export function newKeys(before?: KeptKeys): KeptKeys {
  const revoked = before === undefined ? [] : [...before.revoked, before.signing.id].slice(-MAX_REVOKED)
  const secret = randomBytes(SECRET_BYTES).toString('base64')
  return { format: 1, signing: { id: randomUUID(), secret }, revoked }
}

/** @throws when the text is not a stored key. The error quotes no part of the text, because the text is secret. */
export function readKeys(text: string): KeptKeys {
  const { data } = kept.safeParse(parsed(text))
  if (data !== undefined && Buffer.from(data.signing.secret, 'base64').length === SECRET_BYTES) return data
  throw new Error('the stored key of tokens cannot be read: was it changed, or made by a newer collector?')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function usableKeys({ signing, revoked }: KeptKeys): TokenKeys {
  const secret = createSecretKey(signing.secret, 'base64')
  return { id: signing.id, secret, revoked: new Set(revoked) }
}

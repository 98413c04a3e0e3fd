import { type KeyObject, verify } from 'node:crypto'
import { localKey, signAssertion } from '../../src/auth/tokens.ts'
import { readPrivateKey } from '../../src/settings/private-key.ts'

const CLAIMS = { clientId: 'client', keyId: 'key-7', authServer: 'https://oauth2.example.test' }

/** Signs `times` assertions with one key, and returns for each whether its signature is valid. */
export async function signsWith(key: unknown, publicKey: KeyObject, times = 1): Promise<boolean[]> {
  const local = localKey(readPrivateKey(key))
  const assertions = await Promise.all(
    Array.from({ length: times }, () => signAssertion(local, CLAIMS, Date.now())),
  )
  return assertions.map((assertion) => {
    const dot = assertion.lastIndexOf('.')
    const signature = Buffer.from(assertion.slice(dot + 1), 'base64url')
    return verify('sha256', Buffer.from(assertion.slice(0, dot)), publicKey, signature)
  })
}

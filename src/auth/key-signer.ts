import { platform } from '../runtime/platform.node.ts'
import { ALGORITHM, type CryptoKey, checkCryptoKey } from './crypto-key.ts'
import type { PrivateKey } from './private-key.ts'
import type { Signer } from './signer.ts'

/** Signs with an RSA private key in this process. The bytes that it is made of are wiped with the first signature. */
export function keySigner(key: PrivateKey): Signer {
  let imported: Promise<CryptoKey> | undefined
  return {
    algorithm: 'RS256',
    async sign(data) {
      imported ??= importKey(key)
      const signature = await platform
        .webCrypto()
        .subtle.sign(ALGORITHM.name, await imported, new Uint8Array(data))
      return new Uint8Array(signature)
    },
  }
}

/** A key that signs and cannot be exported. */
async function importKey(key: PrivateKey): Promise<CryptoKey> {
  if ('ready' in key) return key.ready
  const { subtle } = platform.webCrypto()
  const imported = await subtle.importKey('pkcs8', key.pkcs8, ALGORITHM, false, ['sign'])
  key.pkcs8.fill(0)
  // Where the key could not be read at construction, its size shows only now.
  return checkCryptoKey(imported)
}

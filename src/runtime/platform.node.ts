import { createPrivateKey, randomUUID, webcrypto } from 'node:crypto'
import type { Platform, WebCrypto } from './platform.ts'

/** The platform of Node.js, Bun and Deno. Edge runtimes get `platform.web.ts` in its place. */
export const platform: Platform = {
  randomId: randomUUID,

  webCrypto: () => (globalThis.crypto?.subtle === undefined ? (webcrypto as WebCrypto) : globalThis.crypto),

  readPem(pem) {
    const key = createPrivateKey(pem)
    const type = key.asymmetricKeyType
    const pkcs8 = new Uint8Array(key.export({ type: 'pkcs8', format: 'der' }))
    if (type !== 'rsa') return { pkcs8, type, bits: undefined }
    // Not asymmetricKeyDetails, which not every runtime has.
    const { n = '' } = key.export({ format: 'jwk' })
    return { pkcs8, type, bits: Buffer.from(n, 'base64').length * 8 }
  },
}

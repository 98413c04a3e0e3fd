import { AsyncResource as NodeAsyncResource } from 'node:async_hooks'
import { createPrivateKey, webcrypto } from 'node:crypto'
import { v4 } from '@lukeed/uuid/secure'
import type { AsyncResourceClass, Platform, WebCrypto } from './platform.ts'

/** The platform of Node.js, Bun and Deno. On edge runtimes, `platform.web.ts` takes the place of this file. */
export const platform: Platform = {
  randomId: v4,

  webCrypto: () => (globalThis.crypto?.subtle === undefined ? (webcrypto as WebCrypto) : globalThis.crypto),

  readPem(text) {
    const key = createPrivateKey(text)
    const type = key.asymmetricKeyType
    const pem = String(key.export({ type: 'pkcs8', format: 'pem' }))
    if (type !== 'rsa') return { pem, type, bits: undefined }
    // The length is read from the JWK, because not every runtime has `asymmetricKeyDetails`.
    const { n = '' } = key.export({ format: 'jwk' })
    return { pem, type, bits: Buffer.from(n, 'base64').length * 8 }
  },

  claimRequest: () => () => true,
}

export const AsyncResource: AsyncResourceClass = NodeAsyncResource

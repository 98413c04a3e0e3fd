import { createPrivateKey, webcrypto } from 'node:crypto'
import { v4 } from '@lukeed/uuid/secure'
import type { Platform, WebCrypto } from './platform.ts'

/** The platform of the main build. The build for edge runtimes has `platform.web.ts` in the place of this module. */
export const platform: Platform = {
  randomId: v4,

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

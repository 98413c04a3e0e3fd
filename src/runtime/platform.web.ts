import type { Platform } from './platform.ts'

/** An RSA key of 2,048 bits takes 1,216 bytes or so; every elliptic curve key takes less than 300. */
const SHORTEST_RSA_BYTES = 1_190

/** The platform of edge runtimes: what they all have, and no `node:` module. */
export const platform: Platform = {
  randomId: () => crypto.randomUUID(),

  webCrypto: () => crypto,

  // Web Crypto imports keys asynchronously, and PKCS#8 only. What can be seen at once is seen here.
  readPem(pem) {
    const [, label, base64 = ''] = /-----BEGIN ([A-Z ]+)-----([^-]*)/.exec(pem) ?? []
    const { length } = atob(base64.replace(/\s/g, ''))
    if (label !== 'PRIVATE KEY') return { pem, type: 'pkcs1', bits: undefined }
    return { pem, type: length < SHORTEST_RSA_BYTES ? 'short' : undefined, bits: undefined }
  },
}

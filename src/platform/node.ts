import { createRequire } from 'node:module'
import type { Platform } from './platform.ts'

type RandomSource = Pick<Crypto, 'randomUUID'>

let randomSource: RandomSource | undefined

/** The platform of the main build. The build for edge runtimes puts `web.ts` in the place of this module. */
export const platform: Platform = {
  randomId() {
    // Loaded with the first event and not with this module: it costs more than all the rest of it. Node.js 16
    // and 18 have no global to take it from; require() takes it from any path.
    randomSource ??=
      typeof globalThis.crypto?.randomUUID === 'function'
        ? globalThis.crypto
        : (createRequire('/')('node:crypto') as RandomSource)
    return randomSource.randomUUID()
  },

  async loadHTTPClient() {
    const { NodeHTTPClient } = await import('../http/node-client.ts')
    return new NodeHTTPClient()
  },

  // Node.js 16 and 18 have Web Crypto, but not as a global, where jose 6 expects it.
  async installWebCrypto() {
    const { webcrypto } = await import('node:crypto')
    Object.defineProperty(globalThis, 'crypto', { value: webcrypto, writable: true, configurable: true })
  },
}
